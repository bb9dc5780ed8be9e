"""S3's checksums: a full-object CRC64NVME for every upload that names no other, returned by HeadObject on request."""

from __future__ import annotations

import base64
from typing import Any

from awscrt.checksums import crc64nvme

from tools.local_cloud import engines

MODULE = "ministack.services.s3"
ALGORITHM = "CRC64NVME"
NAMED = tuple(f"x-amz-checksum-{one}" for one in ("crc32", "crc32c", "crc64nvme", "sha1", "sha256"))


def install() -> None:
    """Native speed, because a checkpoint hashed byte by byte would hold up every other request."""
    engines.replace(MODULE, "_crc64nvme", lambda body: crc64nvme(body))
    resolve = engines.use(MODULE, "_resolve_object_checksums")
    describe = engines.use(MODULE, "_object_response_headers")

    def with_default(body: bytes, headers: dict[str, str]) -> Any:
        if not any(name in headers for name in (*NAMED, "x-amz-sdk-checksum-algorithm")):
            headers = {**headers, "x-amz-sdk-checksum-algorithm": ALGORITHM}
        return resolve(body, headers)

    def object_headers(stored: dict[str, Any], *where: Any, include_checksums: bool = False, **more: Any) -> Any:
        # Each part of an upload has its own checksum; CRC64NVME still covers the whole object.
        if include_checksums and stored.get("parts") and stored.get("checksums", {}).keys() <= {ALGORITHM}:
            whole = base64.b64encode(crc64nvme(stored["body"]).to_bytes(8, "big")).decode()
            stored.update(checksums={ALGORITHM: whole}, checksum_type="FULL_OBJECT")
        return describe(stored, *where, include_checksums=include_checksums, **more)

    engines.replace(MODULE, "_resolve_object_checksums", with_default)
    engines.replace(MODULE, "_object_response_headers", object_headers)
