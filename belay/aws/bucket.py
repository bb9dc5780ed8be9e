"""One S3 bucket: what lies in it, and documents that two writers cannot clobber."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from botocore.exceptions import ClientError

from belay.aws.clients import error_code
from belay.aws.exceptions import Overtaken

# Two writers, pump and teardown, meet at most now and then: eight tries are plenty.
_TRIES = 8
# S3's names for "your condition did not hold": lost, lost while we wrote, and gone meanwhile.
_OVERTAKEN = {"PreconditionFailed", "ConditionalRequestConflict", "NoSuchKey"}
_ABSENT = {"NoSuchKey", "404"}
_UNCHANGED = {"304", "NotModified"}


@dataclass(frozen=True)
class Stored:
    key: str
    bytes: int
    modified: datetime


@dataclass(frozen=True)
class Document:
    body: bytes
    etag: str


@dataclass(frozen=True)
class Checksum:
    """What S3 knows about an object's content without reading it: nothing, unless it is of the whole object."""

    crc64nvme: str | None


@dataclass(frozen=True)
class Bucket:
    s3: Any
    name: str

    def uri(self, key: str) -> str:
        return f"s3://{self.name}/{key}"

    def read(self, key: str) -> Document | None:
        found = self.read_if_changed(key, None)
        assert found != "unchanged", "without an ETag everything is news"
        return found

    def read_if_changed(self, key: str, etag: str | None) -> Document | Literal["unchanged"] | None:
        """Since it had this ETag."""
        try:
            answer = self.s3.get_object(Bucket=self.name, Key=key, **({"IfNoneMatch": etag} if etag else {}))
        except ClientError as error:
            if error_code(error) in _UNCHANGED:
                return "unchanged"
            if error_code(error) in _ABSENT:
                return None
            raise
        return Document(answer["Body"].read(), answer["ETag"])

    def look_for(self, key: str) -> Document | None:
        """The same, by a role that may ask of single names: S3 tells it AccessDenied of what is not there."""
        return self.read(key) if self.exists(key) else None

    def read_end(self, key: str, *, most_bytes: int) -> bytes | None:
        """The newest part of a file that grows at its end."""
        try:
            size = self.s3.head_object(Bucket=self.name, Key=key)["ContentLength"]
        except ClientError as error:
            if error_code(error) in _ABSENT:
                return None
            raise
        if size == 0:
            return b""
        first = max(0, size - most_bytes)
        body: bytes = self.s3.get_object(Bucket=self.name, Key=key, Range=f"bytes={first}-")["Body"].read()
        return body

    def chunks(self, key: str, *, offset: int, size: int) -> Iterator[bytes]:
        """From there to its end. With a range S3 sends no checksum of the whole, so that the SDK compares nothing: the
        reader does."""
        body = self.s3.get_object(Bucket=self.name, Key=key, Range=f"bytes={offset}-")["Body"]
        try:
            yield from body.iter_chunks(size)
        finally:
            body.close()

    def checksum(self, key: str) -> Checksum:
        head = self.s3.head_object(Bucket=self.name, Key=key, ChecksumMode="ENABLED")
        # A composite checksum is one over the checksums of parts: it says nothing about the bytes as a whole.
        is_whole = head.get("ChecksumType", "FULL_OBJECT") == "FULL_OBJECT"
        return Checksum(head.get("ChecksumCRC64NVME") if is_whole else None)

    def listing(self, prefix: str) -> Iterator[Stored]:
        """Every object under the prefix, without the empty ones that stand for folders."""
        for page in self.s3.get_paginator("list_objects_v2").paginate(Bucket=self.name, Prefix=prefix):
            for raw in page.get("Contents", []):
                if not raw["Key"].endswith("/"):
                    yield Stored(raw["Key"], raw["Size"], raw["LastModified"])

    def folders(self, prefix: str) -> list[str]:
        """The names, without slashes, of what lies directly under the prefix."""
        pages = self.s3.get_paginator("list_objects_v2").paginate(Bucket=self.name, Prefix=prefix, Delimiter="/")
        return [
            raw["Prefix"].removeprefix(prefix).rstrip("/") for page in pages for raw in page.get("CommonPrefixes", [])
        ]

    def has_any(self, prefix: str) -> bool:
        return next(self.listing(prefix), None) is not None

    def exists(self, key: str) -> bool:
        return any(one.key == key for one in self.listing(key))

    def update(self, key: str, change: Callable[[bytes | None], bytes]) -> bytes:
        """Read, change, write if nobody wrote meanwhile; else again from what they wrote."""
        for _ in range(_TRIES):
            before = self.read(key)
            after = change(before.body if before else None)
            if before and before.body == after:
                return after
            if self.write_if(key, after, before.etag if before else None):
                return after
        raise Overtaken(f"{self.uri(key)} was written by others {_TRIES} times in a row")

    def write_if(self, key: str, body: bytes, etag: str | None) -> str | None:
        """Its new ETag, if nobody wrote it since it had this one; None stands for an object that is not there."""
        condition = {"IfMatch": etag} if etag else {"IfNoneMatch": "*"}
        try:
            answer = self.s3.put_object(Bucket=self.name, Key=key, Body=body, **condition)
        except ClientError as error:
            if error_code(error) not in _OVERTAKEN:
                raise
            return None
        return str(answer["ETag"])
