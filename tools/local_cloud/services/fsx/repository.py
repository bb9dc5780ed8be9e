"""The S3 side of an association: reading and writing objects."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from botocore.exceptions import ClientError


class Repository(Protocol):
    """The buckets, as an association sees them."""

    def reachable(self, bucket: str) -> bool:
        """True when the bucket is there."""

    def keys(self, bucket: str, prefix: str) -> Iterator[str]:
        """Every key under the prefix."""

    def fetch(self, bucket: str, key: str, to: Path) -> dict[str, str]:
        """Writes an object to a file and gives its user metadata."""

    def store(self, bucket: str, key: str, content: Path | bytes, metadata: dict[str, str]) -> None:
        """Uploads with S3's full-object checksum."""


class S3Repository:
    """The S3 of this cloud, with the rights of the FSx service."""

    def __init__(self, s3: Any) -> None:
        self._s3 = s3

    def reachable(self, bucket: str) -> bool:
        try:
            self._s3.head_bucket(Bucket=bucket)
        except ClientError:
            return False
        return True

    def keys(self, bucket: str, prefix: str) -> Iterator[str]:
        for answer in self._s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
            for found in answer.get("Contents", []):
                yield found["Key"]

    def fetch(self, bucket: str, key: str, to: Path) -> dict[str, str]:
        answer = self._s3.get_object(Bucket=bucket, Key=key)
        with to.open("wb") as file:
            for chunk in answer["Body"].iter_chunks(1 << 20):
                file.write(chunk)
        return dict(answer["Metadata"])

    def store(self, bucket: str, key: str, content: Path | bytes, metadata: dict[str, str]) -> None:
        asked = {"Bucket": bucket, "Key": key, "Metadata": metadata, "ChecksumAlgorithm": "CRC64NVME"}
        if isinstance(content, bytes):
            self._s3.put_object(**asked, Body=content)
            return
        with content.open("rb") as file:
            self._s3.put_object(**asked, Body=file)
