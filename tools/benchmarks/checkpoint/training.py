"""One training to be measured, in its own process: `python -m tools.benchmarks.checkpoint.training <what, as JSON>`.

An unmodified Trainer; what saves is put into the place of its save. The figures go to `<folder>.json`.
"""

import json
import os
import resource
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import Trainer, TrainerCallback, TrainingArguments

from tools.benchmarks.checkpoint.models import Computing, model_for, samples_a_step, tokens_for
from tools.benchmarks.checkpoint.peers.all import WAYS
from tools.benchmarks.checkpoint.peers.way import Way
from tools.benchmarks.checkpoint.save_timer import SaveTimer

_MORE_STEPS_THAN_NEEDED = 1_000_000


@dataclass(frozen=True)
class Training:
    way: str
    folder: str
    state_gb: float
    how: str
    step_seconds: float
    saves: int
    seconds: float
    """More saves than these as long as it takes to know the slowdown well, but not for longer than this."""
    quiet_steps: int


class _Attach(TrainerCallback):
    """The way first, then the timer around it; both after all others."""

    def __init__(self, way: Way, timer: SaveTimer) -> None:
        self._way = way
        self._watch = timer
        self.trainer: Trainer | None = None

    def on_train_begin(self, *_: Any, **__: Any) -> None:
        assert self.trainer is not None, "set right after the Trainer was made"
        self._way.attach(self.trainer)
        self._watch.attach(self.trainer)


def train(asked: Training) -> dict[str, Any]:
    torch.manual_seed(0)
    computing = Computing(asked.how, asked.step_seconds)
    way = WAYS[asked.way].make()
    timer = SaveTimer(
        saves=asked.saves,
        seconds=asked.seconds,
        quiet_steps=asked.quiet_steps,
        durable_at=way.when_durable,
        forget=way.forget,
        next_save=way.before_save,
    )
    attach = _Attach(way, timer)
    tokens = torch.zeros(tokens_for(asked.state_gb, computing), dtype=torch.long)
    model = model_for(asked.state_gb, computing)
    trainer = attach.trainer = Trainer(
        model=model,
        args=TrainingArguments(
            asked.folder,
            max_steps=_MORE_STEPS_THAN_NEEDED,
            save_strategy="no",
            save_total_limit=2,
            per_device_train_batch_size=1,
            gradient_accumulation_steps=samples_a_step(computing),
            # Where the cores are to be idle: it would read and write all gradients.
            max_grad_norm=0.0 if asked.how == "sleeping" else 1.0,
            activation_checkpointing=asked.how == "cuda",
            use_cpu=asked.how != "cuda",
            disable_tqdm=True,
            report_to="none",
        ),
        train_dataset=[{"input_ids": tokens, "labels": tokens}] * 100_000,
        callbacks=[*way.callbacks(), attach, timer],
    )
    trainer.train()
    way.close()
    if not trainer.is_world_process_zero():
        return {}  # Only the first process knows when a save is durable.
    return {
        "saves": [asdict(save) | {"slowdown_seconds": save.slowdown_seconds} for save in timer.saves],
        "first_step_seconds": timer.first_step_seconds,
        "is_durable": way.is_durable,
        "bytes": getattr(way, "bytes", 0),
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


if __name__ == "__main__":
    asked = Training(**json.loads(sys.argv[1]))
    figures = train(asked)
    if int(os.environ.get("RANK", "0")) == 0:
        Path(asked.folder).with_suffix(".json").write_text(json.dumps(figures))
