"""The loss that was summed up but not logged yet. The Trainer alone forgets it, and logs too low a loss at first."""

from typing import Any

import torch
from transformers import Trainer

from stallfree.exact.notes import Note


class RunningLoss:
    def __init__(self, trainer: Trainer) -> None:
        self._trainer = trainer
        self._copy: torch.Tensor | None = None
        self._copied: Any = None

    def summed_up(self) -> None:
        """All batches of a step are in it. On a GPU the copy begins now: a save must not wait for the optimizer."""
        loss = self._trainer._tr_loss
        if loss.device.type != "cuda":
            return
        if self._copy is None:
            self._copy = torch.empty_like(loss, device="cpu", pin_memory=True)
            self._copied = torch.cuda.Event()  # type: ignore[no-untyped-call]
        self._copy.copy_(loss, non_blocking=True)
        self._copied.record()

    def note(self) -> Note:
        return {"loss": self._unlogged(), "last_logged_step": self._trainer._globalstep_last_logged}

    def take_up(self, notes: list[Note], process: int, processes: int) -> None:
        trainer = self._trainer
        unlogged = [note["loss"] for note in notes]
        mean = sum(unlogged) / len(unlogged)
        # Another number of processes: each begins with what they had on average, and so the sum is the same.
        own = unlogged[process] if len(unlogged) == processes else mean
        trainer._tr_loss = torch.tensor(own, device=trainer.args.device)
        trainer._globalstep_last_logged = notes[0]["last_logged_step"]
        # `train_loss` stays what the Trainer means by it after a resume: the loss of this call alone.
        trainer._total_loss_scalar = -mean

    def _unlogged(self) -> float:
        trainer = self._trainer
        if trainer._globalstep_last_logged == trainer.state.global_step:
            return 0.0
        if self._copy is None:
            return float(trainer._tr_loss)
        self._copied.synchronize()
        return float(self._copy)
