"""What FSx refuses when it is asked to create a file system, beyond what its model says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tools.local_cloud.services.errors import AwsError, NotSupported

SCRATCH = ("SCRATCH_1", "SCRATCH_2")
PERSISTENT_2_THROUGHPUT = (125, 250, 500, 1000)
PERSISTENT_1_THROUGHPUT = (50, 100, 200)
DEFAULT_VERSION = {"SCRATCH_1": "2.10", "SCRATCH_2": "2.10", "PERSISTENT_1": "2.10", "PERSISTENT_2": "2.12"}
VERSIONS = ("2.10", "2.12", "2.15")
MOST_TAGS = 50
BACKUPS = ("AutomaticBackupRetentionDays", "DailyAutomaticBackupStartTime", "CopyTagsToBackups")
BUILT = frozenset({"DeploymentType", "PerUnitStorageThroughput", "DataCompressionType", "WeeklyMaintenanceStartTime"})
BUILT_ON_TOP = frozenset(
    {
        *("ClientRequestToken", "FileSystemType", "StorageCapacity", "StorageType", "SubnetIds", "SecurityGroupIds"),
        *("Tags", "KmsKeyId", "LustreConfiguration", "FileSystemTypeVersion"),
    }
)


def bad(message: str) -> AwsError:
    """FSx's error for most mistakes."""
    return AwsError("BadRequest", message)


def check_file_system(request: Mapping[str, Any]) -> None:
    """Refuses what FSx would: sizes that do not exist, and parameters that a deployment type does not have.

    Where no other source is named: botocore's model, documentation of CreateFileSystem's parameters.
    """
    if request["FileSystemType"] != "LUSTRE":
        raise NotSupported(f"FSx file system type {request['FileSystemType']}")
    if len(request["SubnetIds"]) != 1:
        raise bad("Exactly one subnet ID must be specified for this deployment type.")
    lustre = request.get("LustreConfiguration") or {}
    _refuse_unbuilt(request, lustre)
    kind = lustre.get("DeploymentType", "SCRATCH_1")
    _check_version(request.get("FileSystemTypeVersion", DEFAULT_VERSION[kind]), kind)
    _check_storage(request.get("StorageType", "SSD"), kind)
    _check_capacity(request.get("StorageCapacity"), kind)
    _check_throughput(lustre.get("PerUnitStorageThroughput"), kind)
    _check_backups(lustre, kind)
    if "KmsKeyId" in request and kind in SCRATCH:
        raise bad(f"KmsKeyId is not supported for deployment type {kind}: FSx encrypts it with a key of its own.")


def check_tags(tags: Iterable[Mapping[str, str]]) -> None:
    """ "Tag keys must be unique" (botocore's model, Tag); "the aws: prefix is reserved for AWS use" (FSx for Lustre
    guide, "Tag restrictions"), in any case of its letters. Lengths and numbers are in the model."""
    keys = [tag["Key"] for tag in tags]
    if len(set(keys)) != len(keys):
        raise bad("Tag keys must be unique.")
    for key in keys:
        if key.lower().startswith("aws:"):
            raise bad(f"Tag key {key}: the prefix aws: is reserved.")


def _refuse_unbuilt(request: Mapping[str, Any], lustre: Mapping[str, Any]) -> None:
    unbuilt = sorted({*request} - BUILT_ON_TOP) + sorted({*lustre} - BUILT - {*BACKUPS})
    if unbuilt:
        raise NotSupported(f"FSx {', '.join(unbuilt)}")


def _check_version(version: str, kind: str) -> None:
    if version not in VERSIONS:
        raise bad(f"Invalid FileSystemTypeVersion; valid versions are {', '.join(VERSIONS)}.")
    if kind == "PERSISTENT_2" and version == "2.10":
        raise bad("PERSISTENT_2 needs Lustre version 2.12 or newer.")


def _check_storage(storage: str, kind: str) -> None:
    allowed = {"HDD": ("PERSISTENT_1",), "INTELLIGENT_TIERING": ("PERSISTENT_2",)}.get(storage)
    if allowed is None:
        return
    if kind not in allowed:
        raise bad(f"StorageType {storage} is not supported for deployment type {kind}.")
    raise NotSupported(f"FSx storage type {storage}")


def _check_capacity(capacity: Any, kind: str) -> None:
    step = 3600 if kind == "SCRATCH_1" else 2400
    if not isinstance(capacity, int) or not (capacity in (1200, 2400) or (capacity > 0 and capacity % step == 0)):
        raise bad(
            f"Invalid storage capacity provided: {capacity}. For deployment type {kind} valid values are "
            f"1200, 2400 and increments of {step} GiB."
        )


def _check_throughput(throughput: Any, kind: str) -> None:
    """BadRequest and not InvalidPerUnitStorageThroughput: github.com/hashicorp/terraform-provider-aws/issues/24341."""
    if kind in SCRATCH:
        if throughput is not None:
            raise bad(f"PerUnitStorageThroughput is not supported for deployment type {kind}.")
        return
    allowed = PERSISTENT_2_THROUGHPUT if kind == "PERSISTENT_2" else PERSISTENT_1_THROUGHPUT
    if throughput not in allowed:
        raise bad(f"PerUnitStorageThroughput for {kind} must be one of {', '.join(map(str, allowed))}.")


def _check_backups(lustre: Mapping[str, Any], kind: str) -> None:
    """Backups are for persistent file systems alone, and what belongs to them goes with a retention that is not 0
    (github.com/aws/aws-parallelcluster/pull/1857). [?] Whether a retention of 0 is refused for scratch."""
    asked = [name for name in BACKUPS if name in lustre]
    if asked and kind in SCRATCH:
        raise bad(f"{', '.join(asked)}: backups are not supported for deployment type {kind}.")
    if lustre.get("AutomaticBackupRetentionDays") == 0 and len(asked) > 1:
        raise bad(f"{', '.join(asked[1:])}: automatic backups are off.")
