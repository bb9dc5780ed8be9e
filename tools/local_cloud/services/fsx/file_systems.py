"""Creating, describing and deleting file systems."""

from __future__ import annotations

import shutil
import uuid

from tools.local_cloud.faults import FileSystemFails
from tools.local_cloud.services.fsx import rules
from tools.local_cloud.services.fsx.model import FileSystem, Wire
from tools.local_cloud.services.fsx.network import check_network
from tools.local_cloud.services.fsx.store import Store, named, new_id, shown, tags_of
from tools.local_cloud.services.fsx.tokens import Tokens

_LOOK_AGAIN_SECONDS = 60


class FileSystems:
    """The file system operations."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._tokens: Tokens[FileSystem] = Tokens()

    def create(self, request: Wire) -> Wire:
        rules.check_file_system(request)
        # Without the lock: EC2 is asked through the server, which takes the lock to authorise that request.
        check_network(request, self._store.network)
        with self._store.lock:
            made = self._tokens.once(request, self._new)
            return {"FileSystem": made.describe()}

    def _new(self, request: Wire) -> FileSystem:
        kind = (request.get("LustreConfiguration") or {}).get("DeploymentType", "SCRATCH_1")
        name = new_id("fs")
        mount_name = "fsx" if kind == "SCRATCH_1" else uuid.uuid4().hex[:8]
        made = FileSystem(
            id=name,
            # The mount name is part of the folder's, so a mount with a wrong one finds nothing.
            root=self._store.root / f"{name}-{mount_name}",
            mount_name=mount_name,
            request=request,
            version=request.get("FileSystemTypeVersion", rules.DEFAULT_VERSION[kind]),
            created_at=self._store.clock.now(),
            tags=tags_of(request),
        )
        self._store.quotas.check(made, self._store.file_systems.values())
        made.root.mkdir(parents=True)
        self._store.file_systems[made.id] = made
        self._store.show_tags_late(made, shown={})
        self._store.clock.after(self._store.delays.create_file_system, lambda: self._ready(made))
        return made

    def _ready(self, made: FileSystem) -> None:
        with self._store.lock:
            if made.lifecycle != "CREATING":
                return
            fault = self._store.faults.find(FileSystemFails, made.tags)
            made.lifecycle = fault.lifecycle if fault else "AVAILABLE"
            if made.lifecycle == "CREATING":
                self._store.clock.after(_LOOK_AGAIN_SECONDS, lambda: self._ready(made))

    def describe(self, request: Wire) -> Wire:
        with self._store.lock:
            found = named(self._store.file_systems, request.get("FileSystemIds"), missing="FileSystemNotFound")
            return shown("FileSystems", (one.describe() for one in found), request, filters={})

    def delete(self, request: Wire) -> Wire:
        with self._store.lock:
            found = self._store.file_system(request["FileSystemId"])
            if found.is_scratch and "LustreConfiguration" in request:
                raise rules.bad("LustreConfiguration is not supported when deleting a scratch file system.")
            if busy := self._store.active_task(found.id):
                raise rules.bad(f"File system {found.id} has a data repository task in progress: {busy.id}.")
            if found.lifecycle != "DELETING":
                found.lifecycle = "DELETING"
                self._store.clock.after(self._store.delays.delete_file_system, lambda: self._forget(found))
            return {"FileSystemId": found.id, "Lifecycle": "DELETING"}

    def _forget(self, gone: FileSystem) -> None:
        with self._store.lock:
            self._store.file_systems.pop(gone.id, None)
            for link in self._store.links(gone.id):
                self._store.associations.pop(link.id)
        shutil.rmtree(gone.root)
        gone.marks.unlink(missing_ok=True)
