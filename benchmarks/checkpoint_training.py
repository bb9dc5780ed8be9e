"""One training to be measured: `python -m benchmarks.checkpoint_training <way of saving> <folder>`, figures as JSON.

A GPT-2 of 124 M parameters with AdamW in an unmodified Trainer. Forward and backward only wait, as the CPU does while
a GPU computes; the optimizer's step is real, so that every byte of the state changes with every step.
"""

import itertools
import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

import torch
from stallfree.cadence import EverySteps
from stallfree.callback import Stallfree
from stallfree.events import Event, Saved
from stallfree.saving.overlapped import OverlappedSaver
from stallfree.saving.saver import MakeSaver, PlainSaver
from stallfree.trainer_files import shadow
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments

SECONDS_COMPUTING = 0.5
STEPS_PER_SAVE = 6
SAVES = 6
"""The first is told apart from the others."""


class _Computing(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, gradients: list[torch.Tensor], *parameters: torch.Tensor) -> torch.Tensor:
        ctx.gradients = gradients
        time.sleep(SECONDS_COMPUTING / 3)
        return torch.ones(())

    @staticmethod
    def backward(ctx: Any, *_: torch.Tensor) -> tuple[Any, ...]:
        time.sleep(SECONDS_COMPUTING * 2 / 3)
        return (None, *ctx.gradients)


class OnAnIdleCpu(GPT2LMHeadModel):
    gradients: list[torch.Tensor] | None = None

    def forward(self, input_ids: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        if self.gradients is None:
            self.gradients = [torch.full_like(parameter, 1e-3) for parameter in self.parameters()]
        loss = _Computing.apply(self.gradients, *self.parameters())  # type: ignore[no-untyped-call]
        return {"loss": loss}


class _Watch(TrainerCallback):
    """When each step began, and how long each call of the Trainer's own save took."""

    def __init__(self) -> None:
        self.begins: list[float] = []
        self.calls: list[float] = []

    def time_saves_of(self, trainer: Trainer) -> None:
        save = trainer._save_checkpoint

        def timed(*arguments: Any) -> None:
            began = time.perf_counter()
            save(*arguments)
            self.calls.append(time.perf_counter() - began)

        shadow(trainer, "_save_checkpoint", timed)

    def cycles(self) -> list[float]:
        """From the beginning of a step that ends with a save to that of the next such step; without the first save."""
        marks = self.begins[STEPS_PER_SAVE - 1 :: STEPS_PER_SAVE]
        return [after - before for before, after in itertools.pairwise(marks)][1:]

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        self.begins.append(time.perf_counter())


def train(way: str, folder: Path) -> dict[str, Any]:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    saved: list[Saved] = []

    def hear(event: Event) -> None:
        if isinstance(event, Saved):
            saved.append(event)

    watch = _Watch()
    callbacks: list[TrainerCallback] = [watch]
    savers: dict[str, MakeSaver] = {"plain": PlainSaver, "overlapped": OverlappedSaver}
    if way in savers:
        callbacks.append(Stallfree(cadence=EverySteps(STEPS_PER_SAVE), make_saver=savers[way], sink=hear))
    trainer = Trainer(
        model=OnAnIdleCpu(GPT2Config(bos_token_id=0, eos_token_id=0)),
        args=TrainingArguments(
            str(folder),
            max_steps=(SAVES + 1) * STEPS_PER_SAVE,
            save_strategy="steps" if way == "default" else "no",
            save_steps=STEPS_PER_SAVE,
            save_total_limit=2,
            per_device_train_batch_size=1,
            use_cpu=True,
            disable_tqdm=True,
            report_to="none",
        ),
        train_dataset=[{"input_ids": torch.zeros(4, dtype=torch.long), "labels": torch.zeros(4)}] * 1000,
        callbacks=callbacks,
    )
    if way == "default":
        watch.time_saves_of(trainer)
    trainer.train()
    return {
        "stall_seconds": watch.calls[:SAVES] or [event.stall_seconds for event in saved[:SAVES]],
        "durable_seconds": [event.durable_seconds for event in saved[:SAVES]],
        "cycle_seconds": watch.cycles(),
        "first_step_seconds": watch.begins[1] - watch.begins[0],
        "bytes": saved[0].bytes if saved else 0,
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


if __name__ == "__main__":
    figures = train(sys.argv[1], Path(sys.argv[2]))
    Path(sys.argv[2]).with_suffix(".json").write_text(json.dumps(figures))
