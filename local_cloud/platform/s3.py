"""S3 keeps a full-object CRC64NVME for every upload that names no other checksum, and says so in HeadObject."""

from __future__ import annotations

from typing import Any

from awscrt.checksums import crc64nvme

from local_cloud import engines

MODULE = "ministack.services.s3"
ALGORITHMS = ("crc32", "crc32c", "crc64nvme", "sha1", "sha256")


def install() -> None:
    """Native speed, because a checkpoint hashed byte by byte would hold up every other request."""
    engines.replace(MODULE, "_crc64nvme", lambda body: crc64nvme(body))
    resolve = engines.use(MODULE, "_resolve_object_checksums")

    def with_default(body: bytes, headers: dict[str, str]) -> Any:
        named = any(f"x-amz-checksum-{one}" in headers for one in ALGORITHMS)
        if not named and "x-amz-sdk-checksum-algorithm" not in headers:
            headers = {**headers, "x-amz-sdk-checksum-algorithm": "CRC64NVME"}
        return resolve(body, headers)

    engines.replace(MODULE, "_resolve_object_checksums", with_default)
