"""stallfree's callback with the run's folders and policy, and the run's events."""

import faulthandler
import functools
import logging
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

from stallfree.events import Event, MaxLossNotKept, NotSaved, PassedOver, Removed, Resumed, Saved, StoppedAt
from transformers import Trainer, TrainerControl, TrainerState, TrainingArguments

from stallfree import Cadence, EverySeconds, EverySteps, FirstOf, MaxLoss, Stallfree

from .exports import Exports
from .lines import EventLines
from .pace_file import PaceFile, Phase
from .settings import ENVIRONMENT_VARIABLE, HookSettings

logger = logging.getLogger(__name__)

# The fields of each event that the run reports, as belay/contract/events.py has it. Others go to this process's log.
_REPORTED: dict[type[Event], tuple[str, tuple[str, ...]]] = {
    Saved: (
        "saved",
        ("step", "path", "files", "bytes", "stall_seconds", "durable_seconds", "manifest_crc64nvme"),
    ),
    Removed: ("removed", ("step",)),
    PassedOver: ("passed_over", ("path", "reason")),
    Resumed: ("resumed", ("step", "source")),
    NotSaved: ("not_saved", ("step", "reason")),
    MaxLossNotKept: ("max_loss_not_kept", ("step", "work_seconds", "at_risk_seconds", "reason")),
    StoppedAt: ("stopped", ("step", "saved_step", "lost_steps", "seconds_left")),
}


def _cadence(settings: HookSettings, max_loss: MaxLoss | None) -> Cadence:
    cadences: list[Cadence] = []
    if settings.every_steps is not None:
        cadences.append(EverySteps(settings.every_steps))
    if settings.every_seconds is not None:
        cadences.append(EverySeconds(settings.every_seconds))
    if max_loss is not None:
        cadences.append(max_loss)
    assert cadences, "a job's cadence is in steps, in seconds, or by max_loss"
    return cadences[0] if len(cadences) == 1 else FirstOf(*cadences)


def _dumps_its_stacks() -> bool:
    """From here on SIGUSR2 writes the stacks of all threads into the log, unless the script uses it itself."""
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGUSR2) is signal.SIG_DFL:
        # By number: what a script has made of sys.stderr may have none.
        faulthandler.register(signal.SIGUSR2, file=2, all_threads=True)
        return True
    return False


def _max_loss(settings: HookSettings) -> MaxLoss | None:
    """Work is safe when it is proven in S3, which takes a round of the pump to begin and another one to prove."""
    if settings.max_loss_seconds is None:
        return None
    return MaxLoss(
        settings.max_loss_seconds,
        failures_per_hour=settings.failures_per_hour,
        beyond_seconds=2 * settings.proof_seconds,
    )


class BelayCheckpoints(Stallfree):
    """What every Trainer of a run gets, without being asked."""

    _has_trained = False

    def __init__(self) -> None:
        settings = HookSettings.from_json(os.environ[ENVIRONMENT_VARIABLE])
        max_loss = _max_loss(settings)
        super().__init__(
            checkpoints=settings.checkpoints,
            staging=settings.staging,
            cadence=_cadence(settings, max_loss),
            keep=settings.keep,
            deadline_seconds=settings.stop_seconds,
            resume_from=[settings.resume],
            resume_at_least=settings.resume_step or 0,
            always_resume=True,
            exact_data=settings.exact_data,
            sink=self._write,
        )
        self._settings = settings
        self._pace: PaceFile | None = None
        self._exports = (
            Exports(functools.partial(max_loss.arrived, still_seconds=settings.proof_seconds)) if max_loss else None
        )
        self._lines = EventLines(
            run=settings.run,
            node=settings.node,
            attempt=settings.attempt,
            job=settings.job,
            file=settings.events,
        )

    def applies_to(self, trial: Any) -> bool:
        """One run trains one model: checkpoints of a second would go among those of the first."""
        if not super().applies_to(trial):
            return False
        if type(self)._has_trained:
            logger.warning("A second training in this process: it saves to its own output_dir, which is not exported.")
            return False
        type(self)._has_trained = True
        return True

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        super().on_train_begin(args, state, control)
        if not self._session:
            return
        # From here on SIGTERM means: save, then leave. The supervisor sends it to the processes that it finds here.
        self._pace = PaceFile(self._settings.trainers / str(os.getpid()), dumps=_dumps_its_stacks())
        self._pace.write("resume" if state.global_step else "begin", state.global_step)
        self._last_log = (state.global_step, time.monotonic())

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **more: Any) -> None:
        # It may wait for the last save to be on disk, and a slow disk is no hang.
        self._note("save", state)
        super().on_step_end(args, state, control, **more)
        self._note("step", state)

    def on_epoch_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **more: Any) -> None:
        self._note("save", state)
        super().on_epoch_end(args, state, control, **more)
        self._note("step", state)

    def on_prediction_step(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **more: Any
    ) -> None:
        super().on_prediction_step(args, state, control, **more)
        self._note("step", state)

    def on_train_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        self._note("ended", state)
        if self._exports:
            self._exports.close()

    def on_log(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **event: Any) -> None:
        super().on_log(args, state, control, **event)
        if self._session and state.is_world_process_zero and "loss" in event["logs"]:
            step, moment = self._last_log
            self._last_log = (state.global_step, time.monotonic())
            self._lines.write(
                "step",
                step=state.global_step,
                total_steps=state.max_steps,
                loss=float(event["logs"]["loss"]),
                epoch=state.epoch,
                step_seconds=(self._last_log[1] - moment) / max(1, state.global_step - step),
            )

    def on_evaluate(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **event: Any) -> None:
        if self._session and state.is_world_process_zero:
            numbers = {name: value for name, value in event["metrics"].items() if isinstance(value, int | float)}
            self._lines.write("evaluated", step=state.global_step, metrics=numbers)

    def _train(self, trainer: Trainer, *arguments: Any, **named: Any) -> Any:
        try:
            return super()._train(trainer, *arguments, **named)
        finally:
            # Also where an exception ended it: a script that goes on without training does not hang.
            self._note("ended", trainer.state)

    def _note(self, phase: Phase, state: TrainerState) -> None:
        if self._pace:
            self._pace.write(phase, state.global_step)

    def _write(self, event: Event) -> None:
        if self._exports and isinstance(event, Saved):
            self._exports.saved(event.step, Path(event.path))
        elif self._exports and isinstance(event, Removed):
            self._exports.removed(event.step)
        if type(event) not in _REPORTED:
            return
        kind, names = _REPORTED[type(event)]
        fields = {name: getattr(event, name) for name in names}
        for name in ("path", "source"):
            if name in fields:
                fields[name] = self._relative_to_the_mount(Path(fields[name]))
        self._lines.write(kind, **fields)

    def _relative_to_the_mount(self, path: Path) -> str:
        root = self._settings.root
        return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
