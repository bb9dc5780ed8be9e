"""FSx for Lustre: its operations by name, and what others may ask it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from local_cloud.clock import Clock
from local_cloud.faults import FaultBook
from local_cloud.services.fsx.associations import Associations
from local_cloud.services.fsx.file_systems import FileSystems
from local_cloud.services.fsx.model import Wire
from local_cloud.services.fsx.repository import Repository
from local_cloud.services.fsx.repository_tasks import RepositoryTasks
from local_cloud.services.fsx.store import Delays, Store
from local_cloud.services.fsx.tagging import Tagging

TARGET_PREFIX = "AWSSimbaAPIService_v20180301"
Operation = Callable[[Wire], Wire]


class Fsx:
    """`operations` has everything that this FSx can do; whoever serves it refuses the rest by name."""

    def __init__(
        self, *, root: Path, clock: Clock, repository: Repository, faults: FaultBook, delays: Delays | None = None
    ) -> None:
        self._store = Store(root=root, clock=clock, repository=repository, faults=faults, delays=delays or Delays())
        file_systems, links = FileSystems(self._store), Associations(self._store)
        tasks, tagging = RepositoryTasks(self._store), Tagging(self._store)
        self.operations: Mapping[str, Operation] = {
            "CreateFileSystem": file_systems.create,
            "DescribeFileSystems": file_systems.describe,
            "DeleteFileSystem": file_systems.delete,
            "CreateDataRepositoryAssociation": links.create,
            "DescribeDataRepositoryAssociations": links.describe,
            "DeleteDataRepositoryAssociation": links.delete,
            "CreateDataRepositoryTask": tasks.create,
            "DescribeDataRepositoryTasks": tasks.describe,
            "CancelDataRepositoryTask": tasks.cancel,
            "TagResource": tagging.tag,
            "UntagResource": tagging.untag,
            "ListTagsForResource": tagging.list,
        }

    def tags_by_arn(self) -> Iterable[tuple[str, dict[str, str]]]:
        """Every resource with its tags, for whoever decides who may touch it."""
        with self._store.lock:
            return [(one.arn, dict(one.tags)) for one in self._store.resources()]

    def tags_of_mounted(self, text: str) -> dict[str, str]:
        """The tags of the file system whose DNS name stands in the text."""
        with self._store.lock:
            found = (one for one in self._store.file_systems.values() if one.dns_name in text)
            return dict(next((one.tags for one in found), {}))
