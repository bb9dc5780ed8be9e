"""What FSx refuses when it is asked to link a folder with S3, or to end a link."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tools.local_cloud.services.errors import AwsError, NotSupported
from tools.local_cloud.services.fsx.model import Association, FileSystem
from tools.local_cloud.services.fsx.rules import bad

MOST_ASSOCIATIONS = 8


def check_association(request: Mapping[str, Any], *, owner: FileSystem, others: Iterable[Association]) -> None:
    """Refuses associations that FSx would: wrong file system, too many, overlapping paths on either side."""
    if owner.deployment_type == "SCRATCH_1" or owner.version == "2.10":
        raise bad("Data repository associations need Lustre version 2.12 or newer and are not there for SCRATCH_1.")
    # "Backups cannot be enabled on S3-linked file systems" (botocore's model, DeleteFileSystem); CopyTagsToBackups:
    # "not available for use with file systems that are linked to a data repository".
    if owner.has_backups or owner.copies_tags_to_backups:
        raise bad(f"Automatic backups must be turned off (AutomaticBackupRetentionDays 0) to link {owner.id} with S3.")
    if (request.get("S3") or {}).get("AutoExportPolicy") or (request.get("S3") or {}).get("AutoImportPolicy"):
        raise NotSupported("FSx automatic import and export")
    folder, _bucket, _prefix = parse_paths(request)
    others = list(others)
    if len(others) >= MOST_ASSOCIATIONS:
        raise AwsError("ServiceLimitExceeded", f"A file system has at most {MOST_ASSOCIATIONS} associations.")
    for other in others:
        if _overlap(folder + "/", other.folder + "/") or not folder or not other.folder:
            raise bad(f"File system path {request['FileSystemPath']} overlaps with that of {other.id}.")
        if _overlap(repository(request), repository(other.request)):
            raise bad(f"Data repository path {request['DataRepositoryPath']} overlaps with that of {other.id}.")


def parse_paths(request: Mapping[str, Any]) -> tuple[str, str, str]:
    """Folder on the mount, bucket and prefix of an association request."""
    # Not required by the model; [?] that Lustre has no default for it ("the leading forward slash is required").
    path, link = request.get("FileSystemPath"), request["DataRepositoryPath"]
    if path is None or not path.startswith("/"):
        raise bad("FileSystemPath must be specified, and begin with a forward slash.")
    if {"..", "."} & set(path.split("/")):
        raise bad(f"FileSystemPath {path} is not a path of the file system.")
    if not link.startswith("s3://") or not link[5:].split("/")[0]:
        raise bad("DataRepositoryPath must have the form s3://bucket/prefix/.")
    bucket, _, prefix = link[5:].partition("/")
    return path.strip("/"), bucket, prefix.rstrip("/") + "/" if prefix.strip("/") else ""


def repository(request: Mapping[str, Any]) -> str:
    """The data repository path in one spelling."""
    _folder, bucket, prefix = parse_paths(request)
    return f"s3://{bucket}/{prefix}"


def _overlap(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)
