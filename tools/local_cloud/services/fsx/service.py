"""FSx for Lustre: its operations by name, and tags for other services."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from tools.local_cloud.clock import Clock
from tools.local_cloud.faults import FaultRegistry
from tools.local_cloud.services.fsx.associations import Associations
from tools.local_cloud.services.fsx.file_systems import FileSystems
from tools.local_cloud.services.fsx.model import ARN, Wire
from tools.local_cloud.services.fsx.network import Network
from tools.local_cloud.services.fsx.quotas import Quotas
from tools.local_cloud.services.fsx.repository import Repository
from tools.local_cloud.services.fsx.repository_tasks import RepositoryTasks
from tools.local_cloud.services.fsx.rules import check_tags
from tools.local_cloud.services.fsx.store import Store
from tools.local_cloud.services.fsx.tagging import Tagging
from tools.local_cloud.services.validation import check_request

TARGET_PREFIX = "AWSSimbaAPIService_v20180301"
Operation = Callable[[Wire], Wire]


class Fsx:
    """`operations` has everything that this FSx can do; the server refuses the rest by name."""

    def __init__(
        self,
        *,
        root: Path,
        clock: Clock,
        repository: Repository,
        network: Network,
        faults: FaultRegistry,
        value_of_quota: Callable[[str], float],
    ) -> None:
        self._store = Store(
            root=root,
            clock=clock,
            repository=repository,
            network=network,
            faults=faults,
            quotas=Quotas(value_of_quota),
        )
        file_systems, links = FileSystems(self._store), Associations(self._store)
        tasks, tagging = RepositoryTasks(self._store), Tagging(self._store)
        operations: Mapping[str, Operation] = {
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
        self.operations: Mapping[str, Operation] = {name: _checked(name, one) for name, one in operations.items()}

    def tags_by_arn(self) -> Iterable[tuple[str, dict[str, str]]]:
        """Every resource with its tags, for authorization."""
        with self._store.lock:
            return [(one.arn, dict(one.tags)) for one in self._store.resources()]

    def arn_of_link(self, id: str) -> str:
        """Of one that is gone too, whose file system nobody knows any more."""
        with self._store.lock:
            found = self._store.associations.get(id)
            return found.arn if found else f"{ARN}:association/*/{id}"

    def tags_of_mounted(self, text: str) -> dict[str, str]:
        """The tags of the file system whose DNS name stands in the text."""
        with self._store.lock:
            found = (one for one in self._store.file_systems.values() if one.dns_name in text)
            return dict(next((one.tags for one in found), {}))


def _checked(name: str, operation: Operation) -> Operation:
    def run(request: Wire) -> Wire:
        check_request("fsx", name, request, error="BadRequest")
        check_tags(request.get("Tags") or [])
        return operation(request)

    return run
