"""certificate.json: what a run ended as, written on every path, for people and for programs."""

from datetime import datetime
from enum import StrEnum
from typing import Literal

from pydantic import BaseModel

from belay.contract.events import Host
from belay.contract.ledger import LedgerEntry
from belay.contract.verdict import Verdict


class EndedBy(StrEnum):
    """Who or what ended training."""

    TRAINING = "the training itself"
    REQUEST = "a request to stop"
    TIME_LIMIT = "limits.train"
    BUDGET = "limits.budget_usd"
    SPOT = "Spot"
    INSTANCE = "its instance"
    CAPACITY = "no capacity"
    BEFORE = "what failed before training"


class AskedBy(StrEnum):
    """Who had the file system torn down."""

    TRAIN = "the run itself"
    RESCUE = "the rescue"
    SWEEP = "the sweep"
    PERSON = "a person"


class TrainingEnd(BaseModel):
    """The verdict has the reason; here is who or what it was, and when training was last heard of."""

    by: EndedBy
    last_heard_at: datetime | None
    attempts: int
    """The most that any node made."""
    attempts_of_node: dict[int, int] = {}
    host_of_node: dict[int, Host] = {}
    """What the last attempt of each node ran on."""


class WorkLost(BaseModel):
    """What the last attempt had trained beyond the last verified step. No price: the deployment does not know it."""

    steps: int
    minutes: float
    usd: float | None

    @property
    def sentence(self) -> str:
        if not self.steps:
            return "nothing"
        price = "" if self.usd is None else f", {self.usd:.2f} USD"
        return f"{self.steps} step{'s' if self.steps != 1 else ''}, {self.minutes:g} minutes{price}"


class CertifiedCheckpoint(LedgerEntry):
    """Its manifest has each file's size and checksum, and `manifest_crc64nvme` is the manifest's own."""

    manifest: str | None = None


class FileSystemEnd(BaseModel):
    """What became of the file system."""

    id: str | None
    fate: Literal["never created", "deleted", "kept"]
    created_at: datetime | None = None
    # When it was found gone, if it was not this teardown that deleted it.
    deleted_at: datetime | None = None
    kept_since: datetime | None = None
    kept_why: str | None = None
    usd_a_day: float | None = None

    @property
    def sentence(self) -> str:
        at = self.deleted_at if self.fate == "deleted" else self.kept_since
        when = f" {'at' if self.fate == 'deleted' else 'since'} {at:%Y-%m-%d %H:%M:%S} UTC" if at else ""
        why = f", {self.usd_a_day:.2f} USD a day" if self.fate == "kept" and self.usd_a_day is not None else ""
        return f"{self.fate}{when}{why}"


class Certificate(BaseModel):
    version: Literal[1] = 1
    run: str
    job: str
    execution_arn: str
    started_at: datetime
    certified_at: datetime
    verdict: Verdict
    sentence: str
    # Absent in certificates of earlier versions of Belay.
    ended: TrainingEnd | None = None
    lost: WorkLost | None = None
    asked_by: AskedBy | None = None
    checkpoints: list[CertifiedCheckpoint]
    file_system: FileSystemEnd
