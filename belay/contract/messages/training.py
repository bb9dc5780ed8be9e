"""What the flow Train asks, beside its probes."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from belay.contract.job import Retry
from belay.contract.messages.base import Answer, Question
from belay.contract.tags import State
from belay.contract.verdict import Ending


class AcceptQuestion(Question):
    job: Any
    execution_arn: str
    started_at: datetime


class Tag(Answer):
    Key: str
    Value: str


class ScratchRequest(Answer):
    """Arguments of CreateFileSystem, under the names that FSx gives them."""

    StorageCapacity: int
    LustreConfiguration: dict[str, Any]
    Tags: list[Tag]
    ClientRequestToken: str


class LinkRequest(Answer):
    """Arguments of CreateDataRepositoryAssociation, under the names that FSx gives them."""

    FileSystemPath: str
    DataRepositoryPath: str
    Tags: list[Tag]
    ClientRequestToken: str


class ResourceRequirement(Answer):
    Type: str
    Value: str


class TaskRequest(Answer):
    """What the trainer needs; the capitalized fields have the names that the compute back end gives them."""

    Cpu: int
    Memory: int
    ResourceRequirements: list[ResourceRequirement]
    spot: bool


class LimitsInSeconds(Answer):
    """How long Train waits for each of its parts. The limit of the export is Teardown's, which finds it by itself."""

    start: int
    scratch: int
    link: int
    capacity: int
    train: int


class AcceptAnswer(Answer):
    run: str
    scratch: ScratchRequest
    links: list[LinkRequest]
    task: TaskRequest
    limits: LimitsInSeconds
    retry: Retry


class MarkQuestion(Question):
    file_system_id: str
    state: State
    why: str | None = None
    since: datetime | None = None
    usd_a_day: float | None = None


class MarkAnswer(Answer):
    """Nothing: that there was no error is the answer."""


class JudgeQuestion(Question):
    """Taken as it comes: however an attempt ended, there must be an answer."""

    error: Any = None
    cause: Any = None
    attempts: Any = None
    """How many of each cause there were before this one."""
    retry: Any = None
    """How many the job allows."""


class Attempts(Answer):
    """Attempts that ended, by the cause that a job may ask to retry."""

    capacity: int
    interruption: int
    crash: int


class Wait(StrEnum):
    """What a run waits for that cannot train now."""

    NOTHING = "nothing"
    INSTANCE = "an instance"
    SERVICE = "a service"


class JudgeAnswer(Ending):
    retry: bool
    attempts: Attempts
    wait: Wait
    """Without a file system; only where there is no retry."""
