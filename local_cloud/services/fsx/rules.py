"""What FSx refuses when it is asked to create something."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from local_cloud.services.fsx.model import Association
from local_cloud.services.refusal import NotBuilt, Refused

SCRATCH = ("SCRATCH_1", "SCRATCH_2")
PERSISTENT_2_THROUGHPUT = (125, 250, 500, 1000)
PERSISTENT_1_THROUGHPUT = (50, 100, 200)
DEFAULT_VERSION = {"SCRATCH_1": "2.10", "SCRATCH_2": "2.10", "PERSISTENT_1": "2.10", "PERSISTENT_2": "2.12"}
VERSIONS = ("2.10", "2.12", "2.15")
MOST_ASSOCIATIONS = 8


def bad(message: str) -> Refused:
    """FSx's word for most mistakes."""
    return Refused("BadRequest", message)


def check_file_system(request: Mapping[str, Any]) -> None:
    """Refuses what FSx would: sizes that do not exist, throughput where it has no place, two subnets."""
    if request.get("FileSystemType") != "LUSTRE":
        raise NotBuilt(f"FSx file system type {request.get('FileSystemType')}")
    if len(request.get("SubnetIds") or []) != 1:
        raise bad("Exactly one subnet ID must be specified for this deployment type.")
    lustre = request.get("LustreConfiguration") or {}
    kind = lustre.get("DeploymentType", "SCRATCH_1")
    if kind not in DEFAULT_VERSION:
        raise bad(f"Invalid deployment type: {kind}")
    if any(key in lustre for key in ("ImportPath", "ExportPath", "AutoImportPolicy")):
        raise NotBuilt("FSx ImportPath, ExportPath and AutoImportPolicy (use a data repository association)")
    if request.get("FileSystemTypeVersion", DEFAULT_VERSION[kind]) not in VERSIONS:
        raise bad(f"Invalid FileSystemTypeVersion; valid versions are {', '.join(VERSIONS)}.")
    _check_capacity(request.get("StorageCapacity"), kind)
    _check_throughput(lustre.get("PerUnitStorageThroughput"), kind)


def _check_capacity(capacity: Any, kind: str) -> None:
    step = 3600 if kind == "SCRATCH_1" else 2400
    if not isinstance(capacity, int) or not (capacity in (1200, 2400) or (capacity > 0 and capacity % step == 0)):
        raise bad(
            f"Invalid storage capacity provided: {capacity}. For deployment type {kind} valid values are "
            f"1200, 2400 and increments of {step} GiB."
        )


def _check_throughput(throughput: Any, kind: str) -> None:
    if kind in SCRATCH:
        if throughput is not None:
            raise bad(f"PerUnitStorageThroughput is not supported for deployment type {kind}.")
        return
    allowed = PERSISTENT_2_THROUGHPUT if kind == "PERSISTENT_2" else PERSISTENT_1_THROUGHPUT
    if throughput not in allowed:
        raise bad(f"PerUnitStorageThroughput for {kind} must be one of {', '.join(map(str, allowed))}.")


def check_association(request: Mapping[str, Any], *, kind: str, version: str, others: Iterable[Association]) -> None:
    """Refuses associations that FSx would: wrong file system, too many, overlapping paths on either side."""
    if kind == "SCRATCH_1" or version == "2.10":
        raise bad("Data repository associations need Lustre version 2.12 or newer and are not there for SCRATCH_1.")
    if (request.get("S3") or {}).get("AutoExportPolicy") or (request.get("S3") or {}).get("AutoImportPolicy"):
        raise NotBuilt("FSx automatic import and export")
    folder, _bucket, _prefix = parse_paths(request)
    others = list(others)
    if len(others) >= MOST_ASSOCIATIONS:
        raise Refused("ServiceLimitExceeded", f"A file system has at most {MOST_ASSOCIATIONS} associations.")
    for other in others:
        if _overlap(folder + "/", other.folder + "/") or not folder or not other.folder:
            raise bad(f"File system path {request['FileSystemPath']} overlaps with that of {other.id}.")
        if _overlap(repository(request), repository(other.request)):
            raise bad(f"Data repository path {request['DataRepositoryPath']} overlaps with that of {other.id}.")


def parse_paths(request: Mapping[str, Any]) -> tuple[str, str, str]:
    """Folder on the mount, bucket and prefix of an association request."""
    path, link = str(request.get("FileSystemPath", "/")), str(request.get("DataRepositoryPath", ""))
    if not path.startswith("/"):
        raise bad("FileSystemPath must begin with a forward slash.")
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
