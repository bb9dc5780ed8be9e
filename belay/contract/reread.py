"""reread.json: what the last round of reading checkpoints again did, and where the next one goes on."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel

REREAD = "reread.json"


class Place(BaseModel):
    """In the middle of a checkpoint, after so many bytes of one of its files."""

    job: str
    run: str
    step: int
    manifest_crc64nvme: str | None
    path: str
    offset: int
    crc64nvme: int
    """Of the bytes of the file before the offset."""


class Reread(BaseModel):
    version: Literal[1] = 1
    at: datetime
    read_bytes: int
    checkpoints: int
    """Read to their end in this round."""
    damaged: list[str]
    """Every checkpoint that is known to be damaged now, as <job>/<run>/checkpoint-<step>."""
    stopped_at: Place | None = None
