"""Reads checkpoints in S3 again, byte by byte, within a bound of bytes and of time."""

import base64
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from awscrt import checksums
from botocore.exceptions import ClientError

from belay.aws import checkpoints
from belay.aws.bucket import Bucket
from belay.aws.clients import CONNECTIONS, error_code
from belay.contract.manifest import Manifest, ManifestFile
from belay.contract.paths import MANIFEST
from belay.contract.reread import Place
from belay.policy.rereading import Proven

_CHUNK_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True)
class Reading:
    """Of one checkpoint: whole, damaged, removed by a person, or not read to its end."""

    problem: str | None = None
    is_unchanged: bool = False
    """It is known as damaged, and nothing of it was written since."""
    stopped_at: Place | None = None


class Reader:
    """Reads until its bytes or its time are used up."""

    def __init__(self, bucket: Bucket, *, most_bytes: int, has_time: Callable[[], bool]) -> None:
        self._bucket, self._most_bytes, self._has_time = bucket, most_bytes, has_time
        self.read_bytes = 0

    @property
    def may_go_on(self) -> bool:
        return self.read_bytes < self._most_bytes and self._has_time()

    def read(self, one: Proven, begun: Place | None) -> Reading:
        """`begun`: where an earlier round stopped in it."""
        step, save = one.entry.step, one.entry.manifest_crc64nvme
        objects = checkpoints.stored_of(self._bucket, one.prefix, step)
        # `belay checkpoints rm` removes the manifest first. What a person removed is not damaged.
        if MANIFEST not in objects:
            return Reading()
        since = one.entry.damaged_since
        if since and all(stored.modified <= since for stored in objects.values()):
            return Reading(problem=one.entry.damage, is_unchanged=True)
        with ThreadPoolExecutor(CONNECTIONS) as pool:
            found = checkpoints.prove(self._bucket, step, objects, pool, save=save)
        if found.problem:
            return Reading(problem=found.problem)
        document = self._bucket.read(one.prefix.manifest(step))
        if document is None:
            return Reading()
        return self._read_files(one, Manifest.model_validate_json(document.body), begun)

    def _read_files(self, one: Proven, manifest: Manifest, begun: Place | None) -> Reading:
        files = manifest.files
        if begun:
            files = files[[file.path for file in files].index(begun.path) :]
        for file in files:
            here = begun if begun and begun.path == file.path else self._beginning(one, file)
            try:
                here = self._read_on(one, file, here)
            except ClientError as error:
                if error_code(error) != "NoSuchKey":
                    raise
                return Reading(problem=f"{file.path} is missing")
            if here.offset < file.bytes:
                return Reading(stopped_at=here)
            if base64.b64encode(here.crc64nvme.to_bytes(8, "big")).decode() != file.crc64nvme:
                return Reading(problem=f"{file.path} has other content than was saved")
        return Reading()

    def _read_on(self, one: Proven, file: ManifestFile, here: Place) -> Place:
        """To the end of the file, or as far as may be."""
        offset, crc = here.offset, here.crc64nvme
        if offset < file.bytes and self.may_go_on:
            key = f"{one.prefix.checkpoint(one.entry.step)}{file.path}"
            for chunk in self._bucket.chunks(key, offset=offset, size=_CHUNK_BYTES):
                crc = checksums.crc64nvme(chunk, crc)
                offset += len(chunk)
                self.read_bytes += len(chunk)
                if not self.may_go_on:
                    break
        return here.model_copy(update={"offset": offset, "crc64nvme": crc})

    @staticmethod
    def _beginning(one: Proven, file: ManifestFile) -> Place:
        return Place(
            job=one.prefix.job,
            run=one.prefix.run,
            step=one.entry.step,
            manifest_crc64nvme=one.entry.manifest_crc64nvme,
            path=file.path,
            offset=0,
            crc64nvme=0,
        )
