"""What FSx keeps, and how its parts find things in it."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from local_cloud.clock import Clock
from local_cloud.faults import FaultBook
from local_cloud.services.fsx.model import Association, FileSystem, RepositoryTask, Wire
from local_cloud.services.fsx.repository import Repository
from local_cloud.services.fsx.rules import bad
from local_cloud.services.paging import page
from local_cloud.services.refusal import NotBuilt, Refused

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Delays:
    """How long FSx takes, in AWS seconds; usual values."""

    create_file_system: float = 360
    delete_file_system: float = 300
    create_association: float = 240
    delete_association: float = 120
    start_task: float = 60
    end_task: float = 20


@dataclass(kw_only=True)
class Store:
    """One lock guards everything that is described; the copying of files takes its own time outside it."""

    root: Path
    clock: Clock
    repository: Repository
    faults: FaultBook
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
        """The task that keeps a file system busy."""
        mine = (one for one in self.tasks.values() if one.file_system_id == file_system_id)
        return next((one for one in mine if one.active), None)

    def resources(self) -> list[FileSystem | Association | RepositoryTask]:
        """Everything that has an ARN and tags."""
        return [*self.file_systems.values(), *self.associations.values(), *self.tasks.values()]


def named(things: Mapping[str, T], names: Sequence[str] | None, *, missing: str) -> list[T]:
    """The things of these ids, or all; refuses an unknown id with the error code given."""
    for name in names or []:
        if name not in things:
            raise Refused(missing, f"{name} does not exist.")
    return [things[name] for name in names] if names else list(things.values())


def shown(name: str, found: Iterable[Wire], request: Wire, *, filters: Mapping[str, str]) -> Wire:
    """One page of descriptions that pass the request's filters; `filters` maps their names to fields."""
    passing = list(found)
    for one in request.get("Filters") or []:
        if one["Name"] not in filters:
            raise NotBuilt(f"FSx filter {one['Name']}")
        passing = [wire for wire in passing if wire.get(filters[one["Name"]]) in one["Values"]]
    items, token = page(passing, request)
    return {name: list(items), **({"NextToken": token} if token else {})}


def new_id(kind: str) -> str:
    """An id of FSx's form."""
    return f"{kind}-{uuid.uuid4().hex[:17]}"


def tags_of(request: Wire) -> dict[str, str]:
    """The tags that a request gives."""
    return {tag["Key"]: tag.get("Value", "") for tag in request.get("Tags") or []}
