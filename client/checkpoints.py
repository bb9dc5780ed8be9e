"""Bringing a checkpoint home: every file of its manifest, each compared with its checksum."""

import base64
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from awscrt import checksums

from contract.manifest import Manifest, ManifestFile
from contract.paths import RunPrefix

_AT_ONCE = 8
_CHUNK_BYTES = 8 * 1024 * 1024


class CheckpointDamaged(Exception):
    """A file that came down is not the file that was saved."""


def get(s3: Any, *, bucket: str, prefix: RunPrefix, step: int, into: Path) -> Manifest:
    """The whole checkpoint in the folder `into`, proven, or CheckpointDamaged."""
    manifest = Manifest.model_validate_json(s3.get_object(Bucket=bucket, Key=prefix.manifest(step))["Body"].read())
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        fetched = [
            pool.submit(_fetch, s3, bucket, f"{prefix.checkpoint(step)}{file.path}", file, into)
            for file in manifest.files
        ]
        for one in fetched:
            one.result()
    return manifest


def _fetch(s3: Any, bucket: str, key: str, file: ManifestFile, into: Path) -> None:
    target = into / file.path
    if not target.resolve().is_relative_to(into.resolve()):
        raise CheckpointDamaged(f"{file.path}: lies outside the checkpoint")
    target.parent.mkdir(parents=True, exist_ok=True)
    checksum = 0
    with target.open("wb") as out:
        for chunk in s3.get_object(Bucket=bucket, Key=key)["Body"].iter_chunks(_CHUNK_BYTES):
            checksum = checksums.crc64nvme(chunk, checksum)
            out.write(chunk)
    if base64.b64encode(checksum.to_bytes(8, "big")).decode() != file.crc64nvme:
        raise CheckpointDamaged(f"{file.path}: its CRC64NVME is not the one in the manifest")
