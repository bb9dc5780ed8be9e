"""A stand-in for DeepSpeed, which takes minutes to compile: it saves as that does, and trains nothing."""

from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import transformers.trainer
from transformers import Trainer, TrainerCallback


class TorchCheckpointEngine:
    """As the one of DeepSpeed is called."""


class Engine(TrainerCallback):
    """Each process has a part, which each step changes. All save together, and wait for each other on the way.

    Put before other callbacks: its step is done when theirs begin.
    """

    def __init__(self, number: int, **config: Any) -> None:
        self.number = number
        self.config = {"zero_optimization": {"stage": 2}} | config
        self.checkpoint_engine = TorchCheckpointEngine()
        self.part = torch.arange(300_000.0) + number
        self.steps = 0

    def drive(self, trainer: Trainer) -> None:
        self._trainer: Any = trainer

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        # Of accelerate; the Trainer has it where DeepSpeed is installed.
        vars(transformers.trainer)["DeepSpeedSchedulerWrapper"] = type("DeepSpeedSchedulerWrapper", (), {})
        self._trainer.is_deepspeed_enabled = True
        self._trainer.deepspeed = self
        self._trainer.model_wrapped.save_checkpoint = self.save_checkpoint
        self._trainer.accelerator.get_state_dict = lambda _: {
            name: weight.clone() for name, weight in self._trainer.model.state_dict().items()
        }

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.part += 1
        self.steps = state.global_step

    def save_checkpoint(self, save_dir: str, exclude_frozen_parameters: bool = False) -> None:
        dist.barrier()
        folder = Path(save_dir, f"global_step{self.steps}")
        folder.mkdir(parents=True, exist_ok=True)
        if self.number == 0:
            self._save({"module": self._trainer.model.state_dict(), "none": torch.empty(0)}, folder / "model_states.pt")
        dist.barrier()
        self._save({"step": self.steps, "parts": [self.part, self.part[:9]]}, folder / f"{self.number}_optim_states.pt")
        if self.number == 0:
            script = Path(save_dir, "zero_to_fp32.py")
            script.write_text("print()")
            script.chmod(0o744)
            Path(save_dir, "latest").write_text(folder.name)
        dist.barrier()

    def _save(self, state: Any, path: Path) -> None:
        torch.save(state, str(path))
