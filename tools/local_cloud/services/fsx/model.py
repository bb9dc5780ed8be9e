"""The resources of FSx, and how the API describes each."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.local_cloud.settings import ACCOUNT, REGION

Wire = dict[str, Any]
ARN = f"arn:aws:fsx:{REGION}:{ACCOUNT}"
SHOWN_AS_ASKED = (
    "PerUnitStorageThroughput",
    "DataCompressionType",
    "AutomaticBackupRetentionDays",
    "DailyAutomaticBackupStartTime",
    "CopyTagsToBackups",
)


def tag_list(tags: dict[str, str]) -> list[Wire]:
    """Tags the way the API lists them."""
    return [{"Key": key, "Value": value} for key, value in tags.items()]


@dataclass(kw_only=True)
class FileSystem:
    """A Lustre file system; `exported` is what S3 already holds of it: path -> signature."""

    id: str
    root: Path
    mount_name: str
    request: Wire
    version: str
    created_at: float
    tags: dict[str, str]
    lifecycle: str = "CREATING"
    exported: dict[str, tuple[object, ...]] = field(default_factory=dict)
    # What is described while a fault hides a change of the tags; None: the tags themselves.
    tags_shown: dict[str, str] | None = None

    @property
    def arn(self) -> str:
        return f"{ARN}:file-system/{self.id}"

    @property
    def marks(self) -> Path:
        """The files that S3 holds as they are, by inode, size and path: what Lustre keeps with each file itself."""
        return self.root.with_name(f"{self.root.name}.exported")

    @property
    def dns_name(self) -> str:
        return f"{self.id}.fsx.{REGION}.amazonaws.com"

    @property
    def deployment_type(self) -> str:
        return str(self._lustre.get("DeploymentType", "SCRATCH_1"))

    @property
    def is_scratch(self) -> bool:
        return self.deployment_type.startswith("SCRATCH")

    @property
    def storage_gib(self) -> int:
        return int(self.request["StorageCapacity"])

    @property
    def has_backups(self) -> bool:
        """Whether FSx backs it up by itself. Of a persistent file system that does not say, botocore's model says both
        "The default is 0" (CreateFileSystemLustreConfiguration) and "The default is 30" (the type): the worse counts.
        """
        return not self.is_scratch and int(self._lustre.get("AutomaticBackupRetentionDays", 30)) > 0

    @property
    def copies_tags_to_backups(self) -> bool:
        return bool(self._lustre.get("CopyTagsToBackups"))

    @property
    def _lustre(self) -> Wire:
        return dict(self.request.get("LustreConfiguration") or {})

    def describe(self) -> Wire:
        """The FileSystem structure of the API."""
        asked = self._lustre
        lustre = {key: asked[key] for key in SHOWN_AS_ASKED if key in asked}
        return {
            "OwnerId": ACCOUNT,
            "CreationTime": self.created_at,
            "FileSystemId": self.id,
            "FileSystemType": "LUSTRE",
            "FileSystemTypeVersion": self.version,
            "Lifecycle": self.lifecycle,
            "StorageCapacity": self.request["StorageCapacity"],
            "StorageType": self.request.get("StorageType", "SSD"),
            "SubnetIds": self.request["SubnetIds"],
            "NetworkInterfaceIds": [],
            "DNSName": self.dns_name,
            "ResourceARN": self.arn,
            "Tags": tag_list(self.tags if self.tags_shown is None else self.tags_shown),
            "LustreConfiguration": {
                "WeeklyMaintenanceStartTime": asked.get("WeeklyMaintenanceStartTime", "7:02:00"),
                "DeploymentType": self.deployment_type,
                "MountName": self.mount_name,
                **lustre,
            },
        }


@dataclass(kw_only=True)
class Association:
    """A folder of a file system linked with a prefix of a bucket."""

    id: str
    file_system_id: str
    folder: str  # relative to the mount, without slashes at the ends
    bucket: str
    prefix: str  # "" or ending in a slash
    request: Wire
    created_at: float
    tags: dict[str, str]
    lifecycle: str = "CREATING"
    failure: str | None = None

    @property
    def arn(self) -> str:
        return f"{ARN}:association/{self.file_system_id}/{self.id}"

    def key_of(self, path: str) -> str:
        """The S3 key of a path of the file system that lies in this association's folder."""
        inside = path[len(self.folder) :].lstrip("/") if self.folder else path
        return self.prefix + inside

    def describe(self) -> Wire:
        """The DataRepositoryAssociation structure of the API."""
        shown: Wire = {
            "AssociationId": self.id,
            "ResourceARN": self.arn,
            "FileSystemId": self.file_system_id,
            "Lifecycle": self.lifecycle,
            "FileSystemPath": self.request["FileSystemPath"],
            "DataRepositoryPath": self.request["DataRepositoryPath"],
            "BatchImportMetaDataOnCreate": bool(self.request.get("BatchImportMetaDataOnCreate")),
            "ImportedFileChunkSize": self.request.get("ImportedFileChunkSize", 1024),
            "Tags": tag_list(self.tags),
            "CreationTime": self.created_at,
        }
        if self.failure:
            shown["FailureDetails"] = {"Message": self.failure}
        return shown


@dataclass(kw_only=True)
class RepositoryTask:
    """A data repository task: an export, or the import that comes with an association."""

    id: str
    file_system_id: str
    request: Wire
    created_at: float
    tags: dict[str, str]
    lifecycle: str = "PENDING"
    started_at: float | None = None
    ended_at: float | None = None
    failure: str | None = None
    total: int = 0
    succeeded: int = 0
    failed: int = 0
    hidden: bool = False  # by a fault: it is not listed yet

    ACTIVE = ("PENDING", "EXECUTING", "CANCELING")

    @property
    def arn(self) -> str:
        return f"{ARN}:task/{self.id}"

    @property
    def active(self) -> bool:
        return self.lifecycle in self.ACTIVE

    def describe(self, now: float) -> Wire:
        """The DataRepositoryTask structure of the API."""
        shown: Wire = {
            "TaskId": self.id,
            "Lifecycle": self.lifecycle,
            "Type": self.request["Type"],
            "CreationTime": self.created_at,
            "ResourceARN": self.arn,
            "FileSystemId": self.file_system_id,
            "Paths": self.request.get("Paths", []),
            "Report": self.request.get("Report", {"Enabled": False}),
            "Tags": tag_list(self.tags),
            "Status": {
                "TotalCount": self.total,
                "SucceededCount": self.succeeded,
                "FailedCount": self.failed,
                "LastUpdatedTime": self.ended_at or now,
            },
        }
        if self.started_at is not None:
            shown["StartTime"] = self.started_at
        if self.ended_at is not None:
            shown["EndTime"] = self.ended_at
        if self.lifecycle == "FAILED" and self.failure:
            shown["FailureDetails"] = {"Message": self.failure}
        return shown


Resource = FileSystem | Association | RepositoryTask  # what has an ARN and tags
