"""A small file that each process adds to a checkpoint, for an exact resume."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from transformers import Trainer

from stallfree.internals.replacing import replaced
from stallfree.saving.deferred_files import without_copy, write_json

Note = dict[str, Any]


@contextmanager
def taken(trainer: Trainer, note: Callable[[], Note]) -> Iterator[None]:
    """While this lasts, a note is written wherever the Trainer saves the random states of a process."""
    own = trainer._save_rng_state
    # The Trainer's own method saves copies that nothing else refers to.
    saving = without_copy if getattr(own, "__func__", None) is Trainer._save_rng_state else nullcontext

    def save(output_dir: str) -> None:
        with saving():
            own(output_dir)
        write_json(f"{output_dir}/{name_of_notes(trainer.args.process_index)}", note())

    with replaced(trainer, _save_rng_state=save):
        yield


def name_of_notes(process: int) -> str:
    return f"stallfree_{process}.json"


def of_each_process(checkpoint: Path) -> list[Note]:
    """In the order of the processes; empty, if it was saved without."""
    notes: list[Note] = []
    while (file := checkpoint / name_of_notes(len(notes))).is_file():
        notes.append(json.loads(file.read_text()))
    return notes
