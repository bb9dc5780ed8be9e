"""A way of saving, in the place of the Trainer's own."""

import os
import shutil
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import torch
from transformers import Trainer, TrainerCallback

_KEPT = 2


class Way:
    """One that is measured. `durable_at` is when its last save was on the disk, or was called done."""

    is_durable = True
    """False: it never asks for its bytes to be on the disk."""

    def __init__(self) -> None:
        self.durable_at: float | None = None
        self.fault: BaseException | None = None

    def callbacks(self) -> list[TrainerCallback]:
        """What the Trainer is given when it is made."""
        return []

    def attach(self, trainer: Trainer) -> None:
        """Called when training begins."""

    def before_save(self, number: int) -> None:
        """Called outside of what is measured."""

    def close(self) -> None:
        pass

    def when_durable(self) -> float | None:
        if self.fault is not None:
            raise self.fault
        return self.durable_at

    def forget(self) -> None:
        self.durable_at = None

    def _mark_durable(self) -> None:
        self.durable_at = time.perf_counter()


class Peer(Way):
    """A way that is not a library for the Trainer: it takes the place of the Trainer's save as its users would do it.

    It saves the weights and the optimizer's state, and nothing else; that is a little less than the Trainer saves.
    """

    def attach(self, trainer: Trainer) -> None:
        self._folder = Path(str(trainer.args.output_dir))
        self._updates = 0
        hook = trainer.callback_handler.on_pre_optimizer_step

        def save(*_: Any, **__: Any) -> None:
            self.save(state_of(trainer), self._folder / f"checkpoint-{trainer.state.global_step}")

        def before_update(*arguments: Any) -> Any:
            self._updates += 1
            if self._updates == 2:
                self.prepare(state_of(trainer))
            self.before_update()
            return hook(*arguments)

        put(trainer, "_save_checkpoint", save)
        put(trainer.callback_handler, "on_pre_optimizer_step", before_update)
        self.begin()

    def begin(self) -> None:
        """Before the first step."""

    def prepare(self, state: dict[str, Any]) -> None:
        """In the second step: now the optimizer has its state."""

    def save(self, state: dict[str, Any], folder: Path) -> None:
        raise NotImplementedError

    def before_update(self) -> None:
        """The optimizer changes the state next."""

    def written(self, future: Future[Any] | None = None) -> None:
        if future is not None and (fault := future.exception()) is not None:
            self.fault = fault
            return
        self._mark_durable()
        self._rotate()

    def in_background(self, write: Callable[[], None]) -> threading.Thread:
        def run() -> None:
            torch.set_num_threads(1)
            try:
                write()
                self.written()
            except BaseException as fault:
                # Seen at the next step.
                self.fault = fault

        thread = threading.Thread(target=run)
        thread.start()
        return thread

    def _rotate(self) -> None:
        steps = sorted(int(folder.name.split("-")[1]) for folder in self._folder.glob("checkpoint-*"))
        for step in steps[:-_KEPT]:
            shutil.rmtree(self._folder / f"checkpoint-{step}")


def put(owner: object, method: str, replacement: Callable[..., Any]) -> None:
    """In a method's place, on this one object."""
    owner.__dict__[method] = replacement


def state_of(trainer: Trainer) -> dict[str, Any]:
    """Live weights and optimizer state; of tied weights one, as the Trainer saves them."""
    model: dict[str, torch.Tensor] = {}
    seen: set[int] = set()
    for name, weight in trainer.model.state_dict().items():  # type: ignore[union-attr]  # there is one while training
        if weight.data_ptr() not in seen:
            seen.add(weight.data_ptr())
            model[name] = weight
    return {"model": model, "optimizer": trainer.optimizer.state_dict()}  # type: ignore[union-attr]


def flush_tree(folder: Path) -> None:
    """A copy of ours that does not come from the library which it is compared with."""
    for path in [*folder.rglob("*"), folder, folder.parent]:
        handle = os.open(path, os.O_RDONLY)
        os.fsync(handle)
        os.close(handle)
