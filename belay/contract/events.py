"""What a run says while it lives: one JSON object a line, on the mount and in the log."""

import contextlib
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field, PlainSerializer, TypeAdapter, ValidationError

from belay.contract.verdict import Durability, Training

Moment = Annotated[
    datetime,
    PlainSerializer(lambda at: at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")),
]


class Event(BaseModel):
    at: Moment = Field(default_factory=lambda: datetime.now(UTC))
    run: str
    node: int = Field(default=0, ge=0)
    """The machine of the run that said it, or whose checkpoint it is. Absent in lines of earlier versions."""
    attempt: int
    """Each node counts its own."""

    def line(self) -> str:
        return self.model_dump_json(exclude_none=True)


class Host(BaseModel):
    """What an attempt runs on, as far as it can be read. The instance's image is the newest of its kind each time."""

    ami: str | None = None
    kernel: str | None = None
    driver: str | None = None
    """NVIDIA's."""
    lustre: str | None = None
    image: str | None = None
    """The digest of the trainer's."""


class Started(Event):
    kind: Literal["started"] = "started"
    job: str
    processes: int
    host: Host | None = None
    """Absent in lines of earlier versions."""


class Mounted(Event):
    kind: Literal["mounted"] = "mounted"
    file_system: str
    storage_targets: int


class Resumed(Event):
    kind: Literal["resumed"] = "resumed"
    step: int
    source: str


class Step(Event):
    kind: Literal["step"] = "step"
    step: int
    total_steps: int
    loss: float | None = None
    epoch: float | None = None
    step_seconds: float | None = None


class Evaluated(Event):
    kind: Literal["evaluated"] = "evaluated"
    step: int
    metrics: dict[str, float]


class Saved(Event):
    """A checkpoint is whole on the mount. From here on it must never be lost."""

    kind: Literal["saved"] = "saved"
    step: int
    path: str
    files: int
    bytes: int
    stall_seconds: float
    durable_seconds: float
    manifest_crc64nvme: str


class Removed(Event):
    kind: Literal["removed"] = "removed"
    step: int


class PassedOver(Event):
    """A checkpoint that is not whole was found on resume, and left alone."""

    kind: Literal["passed_over"] = "passed_over"
    path: str
    reason: str


class Stopping(Event):
    kind: Literal["stopping"] = "stopping"
    signal: str
    deadline_seconds: float
    why: str | None = None


class Stopped(Event):
    """Training has done what it could before its deadline: the next attempt goes on from `saved_step`."""

    kind: Literal["stopped"] = "stopped"
    step: int
    saved_step: int | None = None
    lost_steps: int
    seconds_left: float | None = None


class NotSaved(Event):
    """A save that was begun became no checkpoint. The ones before it are untouched."""

    kind: Literal["not_saved"] = "not_saved"
    step: int
    reason: str


class MaxLossNotKept(Event):
    """A failure may cost more work than the job allows; said once, with what was measured."""

    kind: Literal["max_loss_not_kept"] = "max_loss_not_kept"
    step: int
    work_seconds: float
    at_risk_seconds: float
    reason: str


class Finished(Event):
    kind: Literal["finished"] = "finished"
    step: int


class Failed(Event):
    kind: Literal["failed"] = "failed"
    exit_code: int
    reason: str
    step: int | None = None
    """The last that a Trainer had made; absent where none had trained, and in lines of earlier versions."""


class Exported(Event):
    kind: Literal["exported"] = "exported"
    step: int


class Verified(Event):
    kind: Literal["verified"] = "verified"
    step: int
    proof: str
    lag_seconds: float


class Certified(Event):
    """The run's two answers, when they became known."""

    kind: Literal["certified"] = "certified"
    training: Training
    durability: Durability
    sentence: str


AnyEvent = Annotated[
    Started
    | Mounted
    | Resumed
    | Step
    | Evaluated
    | Saved
    | Removed
    | PassedOver
    | Stopping
    | Stopped
    | NotSaved
    | MaxLossNotKept
    | Finished
    | Failed
    | Exported
    | Verified
    | Certified,
    Field(discriminator="kind"),
]
parse_event: TypeAdapter[AnyEvent] = TypeAdapter(AnyEvent)


def events_in(text: str) -> Iterator[AnyEvent]:
    """Of the lines that are whole: a trainer that was killed may leave a part of one."""
    for line in text.splitlines():
        with contextlib.suppress(ValidationError):
            yield parse_event.validate_json(line)
