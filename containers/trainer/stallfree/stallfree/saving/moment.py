"""What a save must note before training goes on, besides the weights. It is written when training has gone on."""

import copy
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from transformers import Trainer
from transformers.trainer import SCHEDULER_NAME, TRAINER_STATE_NAME

from stallfree.checkpoint.store import Store
from stallfree.later import Write, held_back
from stallfree.saving.noted_optimizer import state_of
from stallfree.trainer_files import shadow, unshadow, write_checkpoint

_SHARED_MEMORY = Path("/dev/shm")  # nosec B108 # a folder of our own is made in it
IN_MEMORY = _SHARED_MEMORY if os.access(_SHARED_MEMORY, os.W_OK | os.X_OK) else Path(tempfile.gettempdir())
"""Where to make folders that are gone soon."""


@dataclass
class Moment:
    optimizer: Callable[[], dict[str, Any]] | None = None
    """Its state, with references to what is live; None where only the model is saved, or the state is sharded."""
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
            moment.optimizer = state_of(optimizer)
        torch.save(trainer.lr_scheduler.state_dict(), f"{folder}/{SCHEDULER_NAME}")  # type: ignore[union-attr]

    shadow(trainer, "save_model", lambda *_, **__: None)
    shadow(trainer, "_save_optimizer_and_scheduler", note_scheduler)
    parent = IN_MEMORY / f"stallfree-{secrets.token_hex(8)}"
    folder = parent / f"checkpoint-{trainer.state.global_step}"
    try:
        # Each call for a file system takes as long as all that is noted: no more of them than are needed.
        parent.mkdir(0o700)
        folder.mkdir()
        with state_noted(trainer, moment), held_back(folder) as files:
            write_checkpoint(trainer, trainers_own_save, store, into=parent)
        moment.files |= files | taken_out_of(folder)
    finally:
        _remove(parent)
        unshadow(trainer, "save_model", "_save_optimizer_and_scheduler")
    return moment


@contextmanager
def state_noted(trainer: Trainer, moment: Moment) -> Iterator[None]:
    """What the Trainer would write of its own state is copied, and written with the moment's other files."""

    def note_state(_: str) -> None:
        # Its JSON grows with every line of the log; the lines never change.
        state = copy.copy(trainer.state)
        state.log_history = list(trainer.state.log_history)
        state.stateful_callbacks = copy.deepcopy(trainer.state.stateful_callbacks)
        moment.files[TRAINER_STATE_NAME] = lambda path: type(state).save_to_json(state, str(path))

    shadow(trainer.state, "save_to_json", note_state)
    try:
        yield
    finally:
        unshadow(trainer.state, "save_to_json")


def _remove(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:  # It is not empty.
        shutil.rmtree(folder, ignore_errors=True)


def taken_out_of(folder: Path) -> dict[str, Write]:
    """What the Trainer wrote there in ways of its own, which is mostly nothing. The folder is gone then."""
    try:
        folder.rmdir()
        return {}
    except OSError:
        paths = [path for path in folder.rglob("*") if path.is_file()]
        files = {path.relative_to(folder).as_posix(): _as_it_stands(path) for path in paths}
        shutil.rmtree(folder)
        return files


def _as_it_stands(path: Path) -> Write:
    content, may_be_run = path.read_bytes(), path.stat().st_mode & stat.S_IXUSR

    def write(path: Path) -> None:
        path.write_bytes(content)
        path.chmod(path.stat().st_mode | may_be_run)

    return write if may_be_run else bytes_as_file(content)


def bytes_as_file(content: bytes) -> Write:
    return lambda path: path.write_bytes(content)
