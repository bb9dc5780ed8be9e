"""An FSx in virtual time, on buckets that are dictionaries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tools.local_cloud.clock import VirtualClock
from tools.local_cloud.faults import FaultRegistry
from tools.local_cloud.services.errors import AwsError
from tools.local_cloud.services.fsx import Fsx
from tools.local_cloud.services.fsx.network import SecurityGroup
from tools.local_cloud.services.quotas import Quotas

SUBNET, GROUP = "subnet-0123456789abcdef0", "sg-0123456789abcdef0"
SCRATCH: dict[str, Any] = {
    "FileSystemType": "LUSTRE",
    "FileSystemTypeVersion": "2.15",
    "StorageCapacity": 1200,
    "SubnetIds": [SUBNET],
    "LustreConfiguration": {"DeploymentType": "SCRATCH_2"},
}
PERSISTENT = {
    **SCRATCH,
    "LustreConfiguration": {
        "DeploymentType": "PERSISTENT_2",
        "PerUnitStorageThroughput": 125,
        "AutomaticBackupRetentionDays": 0,
    },
}
HOUR = 3600.0


class Vpc:
    """EC2 as two dictionaries: one subnet, and one security group that lets Lustre through."""

    def __init__(self) -> None:
        self.subnets = {SUBNET: "vpc-1"}
        self.groups = {GROUP: SecurityGroup("vpc-1", admits_lustre=True)}

    def vpc_of(self, subnet: str) -> str | None:
        return self.subnets.get(subnet)

    def security_group(self, group: str) -> SecurityGroup | None:
        return self.groups.get(group)


class Buckets:
    """S3 as a dictionary: bucket -> key -> (content, metadata). `stored` remembers the order of uploads."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, tuple[bytes, dict[str, str]]]] = {"b": {}}
        self.stored: list[str] = []

    def reachable(self, bucket: str) -> bool:
        return bucket in self.objects

    def keys(self, bucket: str, prefix: str) -> Iterator[str]:
        yield from sorted(key for key in self.objects[bucket] if key.startswith(prefix))

    def fetch(self, bucket: str, key: str, to: Path) -> dict[str, str]:
        content, metadata = self.objects[bucket][key]
        to.write_bytes(content)
        return metadata

    def store(self, bucket: str, key: str, content: Path | bytes, metadata: dict[str, str]) -> None:
        self.objects[bucket][key] = (content if isinstance(content, bytes) else content.read_bytes(), metadata)
        self.stored.append(key)


class World:
    """FSx, its clock, its faults and its S3."""

    def __init__(self, root: Path) -> None:
        self.root, self.clock, self.faults, self.s3 = root, VirtualClock(), FaultRegistry(), Buckets()
        self.ec2 = Vpc()
        self.fsx = Fsx(
            root=root,
            clock=self.clock,
            repository=self.s3,
            network=self.ec2,
            faults=self.faults,
            value_of_quota=Quotas(self.faults, self.clock).value,
        )

    def call(self, action: str, /, **request: Any) -> dict[str, Any]:
        return self.fsx.operations[action](request)

    def refused(self, action: str, /, **request: Any) -> AwsError:
        with pytest.raises(AwsError) as raised:
            self.call(action, **request)
        return raised.value

    def file_system(self, **more: Any) -> str:
        """A file system that is ready."""
        made = self.call("CreateFileSystem", **{**SCRATCH, **more})["FileSystem"]
        self.clock.advance(HOUR)
        return str(made["FileSystemId"])

    def link(self, file_system: str, folder: str = "/run", prefix: str = "jobs/a/", **more: Any) -> str:
        """An association that is ready."""
        asked = {
            "FileSystemId": file_system,
            "FileSystemPath": folder,
            "DataRepositoryPath": f"s3://b/{prefix}",
            **more,
        }
        made = self.call("CreateDataRepositoryAssociation", **asked)["Association"]
        self.clock.advance(HOUR)
        return str(made["AssociationId"])

    def mount(self, file_system: str) -> Path:
        """The folder behind a file system."""
        return next(self.root.glob(f"{file_system}-*"))

    def export(self, file_system: str, *paths: str) -> dict[str, Any]:
        """One export, waited for."""
        started = self.start_export(file_system, *paths)
        self.clock.advance(HOUR)
        return self.task(started["TaskId"])

    def start_export(self, file_system: str, *paths: str, **more: Any) -> dict[str, Any]:
        asked = {"Type": "EXPORT_TO_REPOSITORY", "Paths": list(paths), "Report": {"Enabled": False}, **more}
        started: dict[str, Any] = self.call("CreateDataRepositoryTask", FileSystemId=file_system, **asked)
        return dict(started["DataRepositoryTask"])

    def task(self, name: str) -> dict[str, Any]:
        (found,) = self.call("DescribeDataRepositoryTasks", TaskIds=[name])["DataRepositoryTasks"]
        return dict(found)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def ready(world: World) -> Callable[[], tuple[World, str, Path]]:
    """A file system with one association, and the folder of that."""

    def make() -> tuple[World, str, Path]:
        name = world.file_system()
        world.link(name)
        return world, name, world.mount(name) / "run"

    return make
