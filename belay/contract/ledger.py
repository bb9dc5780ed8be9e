"""The life of each checkpoint: WRITTEN on the mount, EXPORTED by a task, VERIFIED in S3 against its manifest."""

from datetime import datetime
from enum import StrEnum

from pydantic import BaseModel


class Proof(StrEnum):
    """How a checkpoint's files were compared with what S3 holds; the weakest over its files."""

    CRC64NVME = "crc64nvme"
    SIZE_ONLY = "size-only"


class LedgerEntry(BaseModel):
    step: int
    node: int = 0
    """The node that announced it."""
    written_at: datetime | None = None
    asked_at: datetime | None = None
    """When an export of it was first begun."""
    exported_at: datetime | None = None
    verified_at: datetime | None = None
    proof: Proof | None = None
    files: int = 0
    bytes: int = 0
    problem: str | None = None
    read_again_at: datetime | None = None
    """When every byte that S3 holds of it was last read and compared."""
    damage: str | None = None
    """What that reading found. It was verified once, and is whole no more."""
    damaged_since: datetime | None = None
    # Tells one save of a step from another: a run that fell back may save the same step again.
    manifest_crc64nvme: str | None = None

    @property
    def damage_sentence(self) -> str | None:
        if self.damage is None or self.damaged_since is None:
            return None
        return f"is damaged in S3 since {self.damaged_since:%Y-%m-%d}: {self.damage}"


class Ledger(BaseModel):
    run: str
    entries: list[LedgerEntry] = []
    told: dict[str, datetime] = {}
    """Which notices were sent for this run, and when: each is sent once."""

    @property
    def last_verified_step(self) -> int | None:
        """Without those that were found damaged later."""
        return max((entry.step for entry in self.entries if entry.verified_at and not entry.damage), default=None)

    @property
    def damaged(self) -> list[LedgerEntry]:
        return [entry for entry in self.entries if entry.damage]
