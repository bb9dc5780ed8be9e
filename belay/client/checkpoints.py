"""Downloading a checkpoint: every file of its manifest, each compared with its checksum."""

import base64
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from awscrt import checksums
from botocore.exceptions import ClientError

from belay.contract.manifest import Manifest, ManifestFile
from belay.contract.paths import RunPrefix

_AT_ONCE = 8
_MOST_IN_A_DELETE = 1000
_CHUNK_BYTES = 8 * 1024 * 1024


class CheckpointDamaged(Exception):
    """A file that came down is not the file that was saved."""


class NoCheckpoint(Exception):
    """There is no whole checkpoint of that step in S3."""


# Called with the bytes that arrived, from several threads.
Arrived = Callable[[int], None]


def manifest_of(s3: Any, *, bucket: str, prefix: RunPrefix, step: int) -> Manifest:
    try:
        body = s3.get_object(Bucket=bucket, Key=prefix.manifest(step))["Body"].read()
    except ClientError as error:
        if error.response["Error"]["Code"] != "NoSuchKey":
            raise
        raise NoCheckpoint(f"s3://{bucket}/{prefix.checkpoint(step)} holds no whole checkpoint") from None
    return Manifest.model_validate_json(body)


def get(
    s3: Any, *, bucket: str, prefix: RunPrefix, step: int, into: Path, arrived: Arrived = lambda _: None
) -> Manifest:
    """The whole checkpoint in the folder `into`, proven, or CheckpointDamaged."""

    def keep(file: ManifestFile) -> None:
        target = into / file.path
        if not target.resolve().is_relative_to(into.resolve()):
            raise CheckpointDamaged(f"{file.path}: lies outside the checkpoint")
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as out:
            _read(
                s3, bucket, f"{prefix.checkpoint(step)}{file.path}", file, [out.write, lambda part: arrived(len(part))]
            )

    return _each_file(manifest_of(s3, bucket=bucket, prefix=prefix, step=step), keep)


def verify(s3: Any, *, bucket: str, prefix: RunPrefix, step: int, arrived: Arrived = lambda _: None) -> Manifest:
    """Every byte in S3 is read and its checksum computed anew; nothing is written. CheckpointDamaged if one differs."""

    def check(file: ManifestFile) -> None:
        _read(s3, bucket, f"{prefix.checkpoint(step)}{file.path}", file, [lambda part: arrived(len(part))])

    return _each_file(manifest_of(s3, bucket=bucket, prefix=prefix, step=step), check)


def remove(s3: Any, *, bucket: str, prefix: RunPrefix, step: int) -> int:
    """The number of objects that are gone. The manifest first: from then on it is no checkpoint any more."""
    s3.delete_object(Bucket=bucket, Key=prefix.manifest(step))
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix.checkpoint(step))
    keys = [item["Key"] for page in pages for item in page.get("Contents", [])]
    for start in range(0, len(keys), _MOST_IN_A_DELETE):
        some = [{"Key": key} for key in keys[start : start + _MOST_IN_A_DELETE]]
        deleted = s3.delete_objects(Bucket=bucket, Delete={"Objects": some, "Quiet": True})
        if refused := deleted.get("Errors"):
            raise NoCheckpoint(f"{refused[0]['Key']} could not be removed: {refused[0]['Message']}")
    return len(keys) + 1


def _each_file(manifest: Manifest, work: Callable[[ManifestFile], None]) -> Manifest:
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for done in [pool.submit(work, file) for file in manifest.files]:
            done.result()
    return manifest


def _read(s3: Any, bucket: str, key: str, file: ManifestFile, takers: list[Callable[[bytes], object]]) -> None:
    checksum, bytes_read = 0, 0
    try:
        body = s3.get_object(Bucket=bucket, Key=key)["Body"]
    except ClientError as error:
        if error.response["Error"]["Code"] != "NoSuchKey":
            raise
        raise CheckpointDamaged(f"{file.path}: is in the manifest, and not in S3") from None
    for chunk in body.iter_chunks(_CHUNK_BYTES):
        checksum = checksums.crc64nvme(chunk, checksum)
        bytes_read += len(chunk)
        for take in takers:
            take(chunk)
    if bytes_read != file.bytes:
        raise CheckpointDamaged(f"{file.path}: has {bytes_read} bytes, and {file.bytes} in the manifest")
    if base64.b64encode(checksum.to_bytes(8, "big")).decode() != file.crc64nvme:
        raise CheckpointDamaged(f"{file.path}: its CRC64NVME is not the one in the manifest")
