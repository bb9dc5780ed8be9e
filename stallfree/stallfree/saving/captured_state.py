"""What a save captures before training goes on, besides the weights. It is written later, in the background."""

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
from stallfree.internals.replacing import replace, restore
from stallfree.internals.trainer import write_checkpoint
from stallfree.saving.deferred_files import Write, deferred
from stallfree.saving.optimizer_state import state_of

_SHARED_MEMORY = Path("/dev/shm")  # nosec B108 # a folder of our own is made in it
IN_MEMORY = _SHARED_MEMORY if os.access(_SHARED_MEMORY, os.W_OK | os.X_OK) else Path(tempfile.gettempdir())
"""Where to make temporary folders."""


@dataclass
class CapturedState:
    optimizer: Callable[[], dict[str, Any]] | None = None
    """Makes its state_dict, of live tensors; None where only the model is saved, or the state is sharded."""
    groups: list[dict[str, Any]] = field(default_factory=list)
    """The settings of a sharded optimizer."""
    files: dict[str, Write] = field(default_factory=dict)
    """Scheduler, scaler, random states, and everything else that this process writes."""

    def write(self, folder: Path) -> None:
        for name, write in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            write(path)


def capture(trainer: Trainer, trainers_own_save: Callable[..., None], store: Store) -> CapturedState:
    """Let the Trainer save without its weights; what it writes is kept in memory."""
    captured = CapturedState()

    def capture_scheduler(folder: str) -> None:
        if not trainer.args.should_save:
            return  # The first process of several saves what they share.
        optimizer: Any = trainer.optimizer
        if trainer.is_fsdp_enabled:
            captured.groups = [dict(group) for group in optimizer.param_groups]
        else:
            captured.optimizer = state_of(optimizer)
        torch.save(trainer.lr_scheduler.state_dict(), f"{folder}/{SCHEDULER_NAME}")  # type: ignore[union-attr]

    replace(trainer, "save_model", lambda *_, **__: None)
    replace(trainer, "_save_optimizer_and_scheduler", capture_scheduler)
    parent = IN_MEMORY / f"stallfree-{secrets.token_hex(8)}"
    folder = parent / f"checkpoint-{trainer.state.global_step}"
    try:
        # As few calls to the file system as possible: each takes as long as all the rest.
        parent.mkdir(0o700)
        folder.mkdir()
        with state_captured(trainer, captured), deferred(folder) as files:
            write_checkpoint(trainer, trainers_own_save, store, into=parent)
        captured.files |= files | files_left_in(folder)
    finally:
        _remove(parent)
        restore(trainer, "save_model", "_save_optimizer_and_scheduler")
    return captured


@contextmanager
def state_captured(trainer: Trainer, captured: CapturedState) -> Iterator[None]:
    """What the Trainer would write of its own state is copied, and written with the other files."""

    def capture_state(_: str) -> None:
        # Its JSON grows with every line of the log; the lines never change.
        state = copy.copy(trainer.state)
        state.log_history = list(trainer.state.log_history)
        state.stateful_callbacks = copy.deepcopy(trainer.state.stateful_callbacks)
        captured.files[TRAINER_STATE_NAME] = lambda path: type(state).save_to_json(state, str(path))

    replace(trainer.state, "save_to_json", capture_state)
    try:
        yield
    finally:
        restore(trainer.state, "save_to_json")


def _remove(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:  # It is not empty.
        shutil.rmtree(folder, ignore_errors=True)


def files_left_in(folder: Path) -> dict[str, Write]:
    """What was written there in other ways than `torch.save`, mostly nothing. The folder is deleted."""
    try:
        folder.rmdir()
        return {}
    except OSError:
        paths = [path for path in folder.rglob("*") if path.is_file()]
        files = {path.relative_to(folder).as_posix(): _copy_of_file(path) for path in paths}
        shutil.rmtree(folder)
        return files


def _copy_of_file(path: Path) -> Write:
    content, may_be_run = path.read_bytes(), path.stat().st_mode & stat.S_IXUSR

    def write(path: Path) -> None:
        path.write_bytes(content)
        path.chmod(path.stat().st_mode | may_be_run)

    return write if may_be_run else bytes_as_file(content)


def bytes_as_file(content: bytes) -> Write:
    return lambda path: path.write_bytes(content)
