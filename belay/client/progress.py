"""What was read of a run, and what follows from it: how far it is, and each event as a sentence. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from belay.client.history import Entered, Trouble
from belay.contract.events import (
    AnyEvent,
    Evaluated,
    Failed,
    Finished,
    MaxLossNotKept,
    NotSaved,
    PassedOver,
    Resumed,
    Saved,
    Started,
    Step,
    Stopped,
    Stopping,
)
from belay.contract.ledger import Ledger
from belay.contract.paths import RESUME_LINK
from belay.contract.units import duration_of

# Relative to the mount, as the trainer says it.
_OF_AN_EARLIER_RUN = f"{RESUME_LINK.removeprefix('/')}/"


@dataclass(frozen=True)
class Snapshot:
    """Everything that was read of a run up to one moment."""

    status: str
    entered: Sequence[Entered] = ()
    troubles: Sequence[Trouble] = ()
    events: Sequence[AnyEvent] = ()
    ledger: Ledger | None = None

    @property
    def is_over(self) -> bool:
        return self.status != "RUNNING"


@dataclass(frozen=True)
class Progress:
    """Where training stands, and how much of it would survive if everything broke now."""

    step: int | None
    total_steps: int | None
    loss: float | None
    last_saved_step: int | None
    last_verified_step: int | None
    inherited_step: int | None = None
    """What an earlier run had proven in S3, and this one began with."""

    @property
    def fraction(self) -> float:
        return (self.step or 0) / self.total_steps if self.total_steps else 0.0

    @property
    def steps_at_risk(self) -> int:
        """What would have to be trained again."""
        return max(0, (self.step or 0) - max(self.last_verified_step or 0, self.inherited_step or 0))

    @property
    def steps_unsaved(self) -> int:
        """What would have to be trained again if training ended here and did not save first."""
        return max(0, (self.step or 0) - max(self.last_saved_step or 0, self.inherited_step or 0))


def progress_of(snapshot: Snapshot) -> Progress:
    steps = [event for event in snapshot.events if isinstance(event, Step)]
    resumes = [event for event in snapshot.events if isinstance(event, Resumed)]
    resumed = [event.step for event in resumes]
    reached = [event.step for event in snapshot.events if isinstance(event, Step | Stopped)] or resumed
    # A training logs every so many steps, and its end seldom falls on one: the last save says how far it came.
    reached += [max([event.step, *reached[-1:]]) for event in snapshot.events if isinstance(event, Finished)]
    inherited = [event.step for event in resumes if event.source.startswith(_OF_AN_EARLIER_RUN)]
    # After a restart an attempt counts from where it resumed: the last step counts, not the highest.
    last = steps[-1] if steps else None
    return Progress(
        step=reached[-1] if reached else None,
        total_steps=last.total_steps if last else None,
        loss=next((event.loss for event in reversed(steps) if event.loss is not None), None),
        last_saved_step=max((event.step for event in snapshot.events if isinstance(event, Saved)), default=None),
        last_verified_step=snapshot.ledger.last_verified_step if snapshot.ledger else None,
        inherited_step=max(inherited, default=None),
    )


def sentence(event: AnyEvent) -> str | None:
    """An event of the trainer as a sentence; None for the many that only move the progress bar."""
    match event:
        case Started():
            again = f", attempt {event.attempt}" if event.attempt > 1 else ""
            return f"the trainer started{again}"
        case Resumed():
            return f"resumed from step {event.step} ({event.source})"
        case PassedOver():
            return f"skipped {event.path}: {event.reason}"
        case Saved():
            written = f"{event.files} files, {bytes_text(event.bytes)}"
            return f"saved step {event.step}: {written}, training waited {seconds_text(event.stall_seconds)}"
        case Evaluated():
            metrics = ", ".join(f"{name} {value:.3f}" for name, value in event.metrics.items() if _is_of_quality(name))
            return f"evaluated at step {event.step}: {metrics}" if metrics else None
        case Stopping():
            return f"asked to stop ({event.signal}): saving within {event.deadline_seconds:.0f} s"
        case Stopped():
            saved = "nothing is saved" if event.saved_step is None else f"step {event.saved_step} is saved"
            return f"stopped after step {event.step}: {saved}, {event.lost_steps} steps lost"
        case NotSaved():
            return f"could not save step {event.step}: {event.reason}"
        case MaxLossNotKept():
            more = f"{event.at_risk_seconds:.0f} s of work and not at most {event.work_seconds:.0f} s"
            return f"max_loss is not kept: a failure may cost {more}: {event.reason}"
        case Finished():
            return f"finished at step {event.step}"
        case Failed():
            return f"failed with exit code {event.exit_code}: {event.reason}"
    return None


def bytes_text(count: int) -> str:
    """1234567 -> '1.2 MB'."""
    size = float(count)
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" or size >= 100 else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def seconds_text(seconds: float) -> str:
    """0.0034 -> '3.4 ms', 76.8 -> '1m17s'."""
    if seconds >= 60:
        return duration_of(round(seconds))
    if seconds < 1:
        milliseconds = seconds * 1000
        return f"{milliseconds:.1f} ms" if milliseconds < 10 else f"{milliseconds:.0f} ms"
    return f"{seconds:.1f} s"


def saves_sentence(snapshot: Snapshot) -> str | None:
    """What the saves of a run cost it; None if there were none."""
    saves = [event for event in snapshot.events if isinstance(event, Saved)]
    if not saves:
        return None
    stall = median(save.stall_seconds for save in saves)
    durable = median(save.durable_seconds for save in saves)
    times = "1 save" if len(saves) == 1 else f"{len(saves)} saves"
    return (
        f"{times}: training waited {seconds_text(stall)} for one (median), which was whole and on disk"
        f" {seconds_text(durable)} after it began"
    )


def _is_of_quality(metric: str) -> bool:
    return not metric.endswith(("_runtime", "_per_second", "_time")) and metric != "epoch"
