"""What a save must note before training goes on, besides the weights. It is written when training has gone on."""

import copy
import os
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from transformers import Trainer
from transformers.trainer import SCHEDULER_NAME, TRAINER_STATE_NAME
from transformers.trainer_pt_utils import reissue_pt_warnings

from stallfree.checkpoint.store import Store
from stallfree.later import Write, held_back
from stallfree.trainer_files import shadow, unshadow, write_checkpoint

_SHARED_MEMORY = Path("/dev/shm")  # nosec B108 # a folder of our own is made in it
IN_MEMORY = _SHARED_MEMORY if os.access(_SHARED_MEMORY, os.W_OK | os.X_OK) else None
"""Where to make folders that are gone soon; None: where everyone does."""


@dataclass
class Moment:
    optimizer: dict[str, Any] | None = None
    """References to the live state; None where only the model is saved, or the state is sharded."""
    groups: list[dict[str, Any]] = field(default_factory=list)
    """The settings of a sharded optimizer."""
    files: dict[str, Write] = field(default_factory=dict)
    """Scheduler, scaler, random states, and whatever else this process writes."""

    def write(self, folder: Path) -> None:
        for name, write in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            write(path)


def note(trainer: Trainer, trainers_own_save: Callable[..., None], store: Store) -> Moment:
    """The Trainer saves into a folder in memory; what it writes there in its own ways is read back at once."""
    moment = Moment()

    def note_scheduler(folder: str) -> None:
        if not trainer.args.should_save:
            return  # The first process of several saves what they share.
        optimizer: Any = trainer.optimizer
        if trainer.is_fsdp_enabled:
            moment.groups = [dict(group) for group in optimizer.param_groups]
        else:
            moment.optimizer = optimizer.state_dict()
        with warnings.catch_warnings(record=True) as caught:
            torch.save(trainer.lr_scheduler.state_dict(), f"{folder}/{SCHEDULER_NAME}")  # type: ignore[union-attr]
        reissue_pt_warnings(caught)  # type: ignore[no-untyped-call]

    def note_state(_: str) -> None:
        # Its JSON grows with every line of the log; the lines never change.
        state = copy.copy(trainer.state)
        state.log_history = list(trainer.state.log_history)
        state.stateful_callbacks = copy.deepcopy(trainer.state.stateful_callbacks)
        moment.files[TRAINER_STATE_NAME] = lambda path: type(state).save_to_json(state, str(path))

    shadow(trainer, "save_model", lambda *_, **__: None)
    shadow(trainer, "_save_optimizer_and_scheduler", note_scheduler)
    shadow(trainer.state, "save_to_json", note_state)
    try:
        with tempfile.TemporaryDirectory(prefix="stallfree-", dir=IN_MEMORY) as parent:
            folder = Path(parent, f"checkpoint-{trainer.state.global_step}")
            folder.mkdir()
            with held_back(folder) as files:
                write_checkpoint(trainer, trainers_own_save, store, into=folder.parent)
            moment.files |= files | _read(folder)
    finally:
        unshadow(trainer, "save_model", "_save_optimizer_and_scheduler")
        unshadow(trainer.state, "save_to_json")
    return moment


def _read(folder: Path) -> dict[str, Write]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): bytes_as_file(path.read_bytes()) for path in files}


def bytes_as_file(content: bytes) -> Write:
    return lambda path: path.write_bytes(content)
