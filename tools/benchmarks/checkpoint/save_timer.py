"""When each step of a training began, how long its saves blocked it, and when the next one is due.

A save is asked for when the one before is durable and some steps without any have passed. So every save has, in the
same process and within seconds, steps without one to be compared with: what else the machine does cancels out. There
are as many saves as it takes to know the median of these differences, up to a time that is the same for all ways.
"""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.distributed as dist
from transformers import Trainer, TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from tools.benchmarks.checkpoint.measured import Value
from tools.benchmarks.checkpoint.peers.way import put

WARM_UP_STEPS = 3
STEPS_AFTER_DURABLE = 1
"""They still belong to the save: what it removes or writes back in the background is its cost as well."""
_WELL_KNOWN_SECONDS, _WELL_KNOWN_SHARE = 0.005, 0.05
"""The slowdown is known well enough when its median is off by no more than one of these."""
_COUNTED_HOOKS = ("on_pre_optimizer_step", "on_optimizer_step", "on_step_end")


@dataclass
class Save:
    """One save, seen from outside: `blocked_seconds` is what it held the loop up, in all its calls."""

    call_seconds: float
    blocked_seconds: float = 0.0
    durable_seconds: float | None = None
    steps: list[float] = field(default_factory=list)
    quiet_before: list[float] = field(default_factory=list)
    quiet_after: list[float] = field(default_factory=list)

    @property
    def slowdown_seconds(self) -> float:
        """How much longer its steps took than as many of the steps around them."""
        return sum(self.steps) - len(self.steps) * statistics.median(self.quiet_before + self.quiet_after)


class SaveTimer(TrainerCallback):
    """It must be the last callback: it overrules others that decide when to save."""

    def __init__(
        self,
        *,
        saves: int,
        seconds: float,
        quiet_steps: int,
        durable_at: Callable[[], float | None],
        forget: Callable[[], None],
        next_save: Callable[[int], None] = lambda number: None,
    ) -> None:
        self._least_saves = saves
        self._seconds = seconds
        self._quiet_steps = quiet_steps
        self._durable_at = durable_at
        self._forget = forget
        self._next_save = next_save
        self.saves: list[Save] = []
        self.first_step_seconds = 0.0
        self._quiet: list[float] = []
        self._steps = 0
        self._began: float | None = None
        self._first_save_began = 0.0
        self._call_began = 0.0
        self._blocked = 0.0
        self._is_saving = False
        self._steps_since_durable: int | None = None

    def attach(self, trainer: Trainer) -> None:
        """Time what may hold the loop up. Called when training begins: then all others are attached already."""
        handler, save = trainer.callback_handler, trainer._save_checkpoint
        for hook in _COUNTED_HOOKS:
            put(handler, hook, self._timed(getattr(handler, hook)))

        def timed_save(*arguments: Any, **named: Any) -> None:
            self._save_begins()
            save(*arguments, **named)
            self.saves[-1].call_seconds = time.perf_counter() - self._call_began
            self._blocked += self.saves[-1].call_seconds

        put(trainer, "_save_checkpoint", timed_save)

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
            # What training has queued is the step; copies on other streams are not waited for.
            torch.cuda.current_stream().synchronize()
        now = time.perf_counter()
        if self._began is not None:
            self._step_ended(now - self._began)
        self._began = now

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        # The step that ends now is not in the list yet.
        rested = self._steps >= WARM_UP_STEPS and len(self._quiet) + 1 >= self._quiet_steps
        may_go_on = rested and not self._is_saving
        done = may_go_on and self._has_seen_enough()
        control.should_save, control.should_training_stop = self._agreed(may_go_on and not done, done)

    def _has_seen_enough(self) -> bool:
        if len(self.saves) < self._least_saves:
            return False
        slowdown = Value.of([save.slowdown_seconds for save in self.saves[1:]])
        is_known = slowdown.error <= max(_WELL_KNOWN_SECONDS, _WELL_KNOWN_SHARE * abs(slowdown.median))
        return is_known or time.perf_counter() - self._first_save_began >= self._seconds

    def _agreed(self, *flags: bool) -> list[bool]:
        """The first process decides for all: only it knows when its save is durable."""
        if not (dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1):
            return list(flags)
        decision = torch.tensor(flags, dtype=torch.int32)
        dist.broadcast(decision, src=0)
        return [bool(flag) for flag in decision.tolist()]

    def _timed(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any, **named: Any) -> Any:
            began = time.perf_counter()
            try:
                return call(*arguments, **named)
            finally:
                self._blocked += time.perf_counter() - began

        return timed

    def _save_begins(self) -> None:
        # What held up the step until here belongs to the step.
        self._blocked = 0.0
        self._forget()
        self._next_save(len(self.saves))
        if not self.saves:
            self._first_save_began = time.perf_counter()
        self.saves.append(Save(call_seconds=0.0, quiet_before=self._quiet))
        self._quiet = []
        self._is_saving, self._steps_since_durable = True, None
        self._call_began = time.perf_counter()

    def _step_ended(self, seconds: float) -> None:
        self._steps += 1
        blocked, self._blocked = self._blocked, 0.0
        if self._steps == 1:
            self.first_step_seconds = seconds
        if self._steps <= WARM_UP_STEPS:
            return
        if not self._is_saving:
            self._quiet.append(seconds)
            if self.saves:
                self.saves[-1].quiet_after = self._quiet
            return
        save = self.saves[-1]
        save.steps.append(seconds)
        save.blocked_seconds += blocked
        durable_at = self._durable_at()
        if self._steps_since_durable is not None:
            self._steps_since_durable += 1
        elif durable_at is not None:
            save.durable_seconds = durable_at - self._call_began
            self._steps_since_durable = 0
        if (
            self._steps_since_durable is not None
            and self._steps_since_durable >= STEPS_AFTER_DURABLE
            and len(save.steps) > 1
        ):
            self._is_saving = False
