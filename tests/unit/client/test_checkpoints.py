import base64
import io
from pathlib import Path
from typing import Any

import pytest
from awscrt.checksums import crc64nvme
from botocore.exceptions import ClientError

from belay.client.checkpoints import CheckpointDamaged, NoCheckpoint, get, remove, verify
from belay.contract.manifest import Manifest, ManifestFile
from belay.contract.paths import RunPrefix
from tests.unit.client.samples import RUN, START

PREFIX = RunPrefix("digits", RUN)
FILES = {"model.safetensors": b"weights" * 1000, "global_step/rank_0.pt": b"optimizer"}


class Body(io.BytesIO):
    def iter_chunks(self, size: int) -> Any:
        return iter(lambda: self.read(64), b"")


class Bucket:
    def __init__(self) -> None:
        self.deleted: list[str] = []
        self.objects = {f"{PREFIX.checkpoint(40)}{path}": data for path, data in FILES.items()}
        self.objects[PREFIX.manifest(40)] = manifest(FILES).model_dump_json().encode()

    def get_object(self, *, Bucket: str, Key: str) -> dict[str, Any]:
        if Key not in self.objects:
            raise ClientError({"Error": {"Code": "NoSuchKey"}}, "GetObject")
        return {"Body": Body(self.objects[Key])}

    def delete_object(self, *, Bucket: str, Key: str) -> None:
        self.deleted.append(Key)
        del self.objects[Key]

    def delete_objects(self, *, Bucket: str, Delete: dict[str, Any]) -> dict[str, Any]:
        for item in Delete["Objects"]:
            self.delete_object(Bucket=Bucket, Key=item["Key"])
        return {}

    def get_paginator(self, operation: str) -> "Bucket":
        return self

    def paginate(self, *, Bucket: str, Prefix: str) -> Any:
        yield {"Contents": [{"Key": key} for key in self.objects if key.startswith(Prefix)]}


def manifest(files: dict[str, bytes]) -> Manifest:
    return Manifest(
        version=1,
        step=40,
        committed_at=START,
        files=[
            ManifestFile(
                path=path, bytes=len(data), crc64nvme=base64.b64encode(crc64nvme(data).to_bytes(8, "big")).decode()
            )
            for path, data in files.items()
        ],
    )


def fetch(bucket: Bucket, into: Path) -> Manifest:
    return get(bucket, bucket="b", prefix=PREFIX, step=40, into=into)


def test_a_checkpoint_comes_down_with_all_its_files_and_folders(tmp_path: Path) -> None:
    fetch(Bucket(), tmp_path)

    assert {path: (tmp_path / path).read_bytes() for path in FILES} == FILES


def test_one_flipped_byte_is_noticed_and_named(tmp_path: Path) -> None:
    bucket = Bucket()
    key = f"{PREFIX.checkpoint(40)}model.safetensors"
    bucket.objects[key] = b"W" + bucket.objects[key][1:]

    with pytest.raises(CheckpointDamaged, match=r"model\.safetensors"):
        fetch(bucket, tmp_path)


def test_a_manifest_cannot_write_outside_its_folder(tmp_path: Path) -> None:
    bucket = Bucket()
    bucket.objects[PREFIX.manifest(40)] = manifest({"../escaped": b"x"}).model_dump_json().encode()

    with pytest.raises(CheckpointDamaged, match="outside"):
        fetch(bucket, tmp_path / "checkpoint")
    assert not (tmp_path / "escaped").exists()


def check(bucket: Bucket) -> Manifest:
    return verify(bucket, bucket="b", prefix=PREFIX, step=40)


def test_verifying_reads_every_byte_and_writes_none(tmp_path: Path) -> None:
    arrived: list[int] = []
    verify(Bucket(), bucket="b", prefix=PREFIX, step=40, arrived=arrived.append)

    assert sum(arrived) == sum(len(data) for data in FILES.values())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("body", [b"W" + FILES["model.safetensors"][1:], FILES["model.safetensors"][:-1], None])
def test_verifying_notices_a_file_that_is_changed_cut_short_or_gone(body: bytes | None) -> None:
    bucket = Bucket()
    key = f"{PREFIX.checkpoint(40)}model.safetensors"
    bucket.objects.pop(key)
    if body is not None:
        bucket.objects[key] = body

    with pytest.raises(CheckpointDamaged, match=r"model\.safetensors"):
        check(bucket)


def test_a_removed_checkpoint_loses_its_manifest_first_and_is_none_from_then_on() -> None:
    bucket = Bucket()
    assert remove(bucket, bucket="b", prefix=PREFIX, step=40) == len(FILES) + 1
    assert bucket.deleted[0] == PREFIX.manifest(40) and bucket.objects == {}
    with pytest.raises(NoCheckpoint):
        check(bucket)
