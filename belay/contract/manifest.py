"""A checkpoint's manifest: what must be there for it to be whole. Written last, so finding it is finding all."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class ManifestFile(BaseModel):
    model_config = ConfigDict(frozen=True)

    path: str
    bytes: int = Field(ge=0)
    crc64nvme: str = Field(description="Base64 of eight big-endian bytes, the way S3 reports it.")


class Manifest(BaseModel):
    model_config = ConfigDict(frozen=True)

    version: Literal[1]
    step: int = Field(ge=0)
    committed_at: datetime
    files: list[ManifestFile]

    @property
    def total_bytes(self) -> int:
        return sum(file.bytes for file in self.files)
