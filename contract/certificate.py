"""certificate.json: what a run ended as, written on every path, for people and for programs."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel

from contract.ledger import LedgerEntry
from contract.verdict import Verdict


class FileSystemEnd(BaseModel):
    """What became of the file system."""

    id: str | None
    fate: Literal["never created", "deleted", "kept"]


class Certificate(BaseModel):
    version: Literal[1] = 1
    run: str
    job: str
    execution_arn: str
    started_at: datetime
    certified_at: datetime
    verdict: Verdict
    sentence: str
    checkpoints: list[LedgerEntry]
    file_system: FileSystemEnd
