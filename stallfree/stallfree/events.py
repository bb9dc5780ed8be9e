"""What happens to a training's checkpoints. A sink is any callable that takes an event."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Saved:
    """The checkpoint is whole and durable."""

    step: int
    path: str
    files: int
    bytes: int
    stall_seconds: float
    """How long training stood still for it."""
    durable_seconds: float
    """From the begin of the save until it is durable."""
    manifest_crc64nvme: str
    copy_seconds: float | None = None
    write_seconds: float | None = None
    fsync_seconds: float | None = None
    commit_seconds: float | None = None

    @property
    def gb_per_second(self) -> float:
        return self.bytes / 1e9 / self.durable_seconds


@dataclass(frozen=True)
class Interfered:
    """How much longer the steps took during which a save was under way, its stall included, than quiet ones do."""

    step: int
    seconds: float
    steps: int
    """How many steps that was."""


@dataclass(frozen=True)
class Arrived:
    """A checkpoint that was saved into a fast tier is whole and durable in the one behind it."""

    step: int
    path: str
    files: int
    bytes: int
    seconds: float
    manifest_crc64nvme: str


@dataclass(frozen=True)
class LeftOut:
    """A tier that was to get this checkpoint did not. Training goes on, and the other tier has it."""

    step: int
    folder: str
    reason: str


@dataclass(frozen=True)
class Skipped:
    """A save was left out, because the one before it was still being written."""

    step: int
    under_way: int | None


@dataclass(frozen=True)
class NotSaved:
    """A save failed. The checkpoints before it are untouched."""

    step: int
    reason: str


@dataclass(frozen=True)
class MaxLossNotKept:
    """A failure may cost more work than was allowed. Saves are made as often as can be."""

    step: int
    work_seconds: float
    at_risk_seconds: float
    reason: str


@dataclass(frozen=True)
class StoppedAt:
    """Training was asked to stop. From `saved_step` on it can be resumed."""

    step: int
    saved_step: int | None
    lost_steps: int
    seconds_left: float | None
    """Until the deadline, if there is one."""


@dataclass(frozen=True)
class Removed:
    step: int


@dataclass(frozen=True)
class PassedOver:
    path: str
    reason: str


@dataclass(frozen=True)
class Resumed:
    step: int
    source: str


Event = (
    Saved
    | Interfered
    | Skipped
    | NotSaved
    | MaxLossNotKept
    | StoppedAt
    | Arrived
    | LeftOut
    | Removed
    | PassedOver
    | Resumed
)
Sink = Callable[[Event], None]
