"""What Teardown is started with, and what it asks, beside its probes."""

from datetime import datetime
from typing import Literal

from belay.contract.messages.base import Answer, Question
from belay.contract.verdict import Durability, Ending, Training


class TeardownInput(Question):
    """From Train, the rescue, the sweep or a person. What is not known is left out: null would count as given."""

    execution_arn: str
    ended: Ending | None = None
    asked_by: str | None = None
    starts_again: bool | None = None
    """The run goes on without this file system: nothing is certified yet."""


class FindQuestion(Question):
    execution_arn: str


class CertifyAnswer(Answer):
    """The verdict of a run: the output of its executions, or their error and cause."""

    training: Training
    durability: Durability
    sentence: str
    error: str
    last_verified_step: int | None


class FoundFileSystem(Answer):
    id: str
    state: str
    created_at: datetime
    kept_since: datetime | None
    usd_a_day: float | None


class FindAnswer(Answer):
    """The defaults are the answer for an execution that left nothing."""

    known: bool = False
    run: str | None = None
    job: str | None = None
    started_at: datetime | None = None
    ended: Ending | None = None
    """None: the execution still runs."""
    file_system: FoundFileSystem | None = None
    tasks: list[str] = []
    certified: bool = False
    verdict: CertifyAnswer | None = None
    export_limit_seconds: int | None = None
    last_verified_step: int | None = None


class VerifyQuestion(Question):
    job: str
    run: str
    exported: bool
    """Whether an export task of this teardown came to its end."""


class VerifyAnswer(Answer):
    whole: bool
    last_verified_step: int | None
    missing: list[str]
    """One line for each checkpoint that is not whole in S3."""


class Verification(Question):
    """What certify reads of the answer of verify."""

    whole: bool


class FileSystemFate(Question):
    """What teardown did with the file system; `gone`: it found none."""

    id: str | None = None
    fate: Literal["never created", "deleted", "kept", "gone"]
    created_at: datetime | None = None
    kept_since: datetime | None = None
    why: str | None = None


class CertifyQuestion(Question):
    execution_arn: str
    run: str
    job: str
    started_at: datetime
    ended: Ending | None
    file_system: FileSystemFate
    verification: Verification | None
    asked_by: str | None = None
    """Any text: a person may write it."""
