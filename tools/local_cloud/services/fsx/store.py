"""All resources of FSx, and looking them up."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from tools.local_cloud.clock import Clock
from tools.local_cloud.faults import FaultRegistry, TagsAppearLate
from tools.local_cloud.services.errors import AwsError, NotSupported
from tools.local_cloud.services.fsx.model import Association, FileSystem, RepositoryTask, Resource, Wire
from tools.local_cloud.services.fsx.network import Network
from tools.local_cloud.services.fsx.quotas import Quotas
from tools.local_cloud.services.fsx.repository import Repository
from tools.local_cloud.services.fsx.rules import bad
from tools.local_cloud.services.paging import page

T = TypeVar("T")
# By the name of a filter: the value of a description that it compares.
Filters = Mapping[str, Callable[[Wire], Any]]


@dataclass(frozen=True, kw_only=True)
class Delays:
    """How long FSx takes, in AWS seconds; usual values."""

    create_file_system: float = 360
    delete_file_system: float = 300
    create_association: float = 240
    list_import: float = 30
    delete_association: float = 120
    start_task: float = 60
    end_task: float = 20


@dataclass(kw_only=True)
class Store:
    """One lock guards everything that is described; the copying of files takes its own time outside it."""

    root: Path
    clock: Clock
    repository: Repository
    network: Network
    faults: FaultRegistry
    quotas: Quotas
    delays: Delays = field(default_factory=Delays)
    lock: threading.RLock = field(default_factory=threading.RLock)
    file_systems: dict[str, FileSystem] = field(default_factory=dict)
    associations: dict[str, Association] = field(default_factory=dict)
    tasks: dict[str, RepositoryTask] = field(default_factory=dict)

    def file_system(self, name: Any) -> FileSystem:
        """The file system of that id; refuses an unknown one."""
        return named(self.file_systems, [str(name)], missing="FileSystemNotFound")[0]

    def available(self, name: Any) -> FileSystem:
        """The same, and it is ready to be worked with."""
        found = self.file_system(name)
        if found.lifecycle != "AVAILABLE":
            raise bad(f"File system {found.id} is {found.lifecycle}, not AVAILABLE.")
        return found

    def links(self, file_system_id: str) -> list[Association]:
        """Every association of a file system."""
        return [one for one in self.associations.values() if one.file_system_id == file_system_id]

    def active_task(self, file_system_id: str) -> RepositoryTask | None:
        """The task that is in progress on a file system."""
        mine = (one for one in self.tasks.values() if one.file_system_id == file_system_id)
        return next((one for one in mine if one.active), None)

    def show_tags_late(self, changed: FileSystem, *, shown: dict[str, str]) -> None:
        """Under a fault, `shown` stands in the descriptions for a while after the tags changed."""
        if late := self.faults.take(TagsAppearLate, changed.tags):
            changed.tags_shown = shown
            self.clock.after(late.seconds, lambda: setattr(changed, "tags_shown", None))

    def resources(self) -> list[Resource]:
        """Everything that has an ARN and tags."""
        return [*self.file_systems.values(), *self.associations.values(), *self.tasks.values()]


def named(resources: Mapping[str, T], names: Sequence[str] | None, *, missing: str) -> list[T]:
    """The resources of these ids, or all; refuses an unknown id with the error code given."""
    for name in names or []:
        if name not in resources:
            raise AwsError(missing, f"{name} does not exist.")
    return [resources[name] for name in names] if names else list(resources.values())


def shown(name: str, found: Iterable[Wire], request: Wire, *, filters: Filters, unbuilt: Collection[str] = ()) -> Wire:
    """One page of descriptions that pass the request's filters; `unbuilt` are those that only AWS has."""
    passing = list(found)
    for one in request.get("Filters") or []:
        asked, values = one.get("Name"), one.get("Values")
        if asked in unbuilt:
            raise NotSupported(f"FSx filter {asked}")
        if asked not in filters or values is None:
            raise bad(f"The filter {asked} is not valid for this operation.")
        passing = [wire for wire in passing if filters[asked](wire) in values]
    items, token = page(passing, request, error="BadRequest")
    return {name: list(items), **({"NextToken": token} if token else {})}


def new_id(kind: str) -> str:
    """An id of FSx's form."""
    return f"{kind}-{uuid.uuid4().hex[:17]}"


def tags_of(request: Wire) -> dict[str, str]:
    """The tags that a request gives."""
    return {tag["Key"]: tag.get("Value", "") for tag in request.get("Tags") or []}
