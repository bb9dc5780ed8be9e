"""Importing: what lies under an association's prefix appears on the mount, by a task that comes with it."""

from __future__ import annotations

from botocore.exceptions import BotoCoreError, ClientError

from tools.local_cloud.faults import ImportFails
from tools.local_cloud.services.fsx import posix
from tools.local_cloud.services.fsx.model import Association, FileSystem, RepositoryTask
from tools.local_cloud.services.fsx.repository import Repository
from tools.local_cloud.services.fsx.store import Store, new_id


class Imports:
    """The import tasks: FSx makes one for each association by itself."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def begin(self, owner: FileSystem, link: Association) -> None:
        task = RepositoryTask(
            id=new_id("task"),
            file_system_id=owner.id,
            request={"Type": "IMPORT_METADATA_FROM_REPOSITORY", "Paths": [link.folder]},
            created_at=self._store.clock.now(),
            tags={},
        )
        with self._store.lock:
            self._store.tasks[task.id] = task
        self._store.clock.after(self._store.delays.start_task, lambda: self._run(owner, link, task))

    def _run(self, owner: FileSystem, link: Association, task: RepositoryTask) -> None:
        with self._store.lock:
            if owner.lifecycle != "AVAILABLE":
                task.lifecycle, task.failure = "FAILED", "The file system is not available."
                return
            task.lifecycle, task.started_at = "EXECUTING", self._store.clock.now()
        failure = None
        try:
            if self._store.faults.take(ImportFails, owner.tags):
                failure = f"The bucket {link.bucket} could not be listed."
            else:
                import_objects(owner, link, self._store.repository)
        except (BotoCoreError, ClientError) as error:
            failure = f"FSx cannot import from the bucket {link.bucket}: {error}"
        with self._store.lock:
            task.failure, task.ended_at = failure, self._store.clock.now()
            task.lifecycle = "FAILED" if failure else "SUCCEEDED"


def import_objects(file_system: FileSystem, link: Association, repository: Repository) -> None:
    """Brings every object in. FSx brings metadata first and content when it is read; here both come at once."""
    folder = file_system.root / link.folder
    for key in repository.keys(link.bucket, link.prefix):
        inside = key[len(link.prefix) :]
        target = folder / inside
        if not inside or not target.resolve().is_relative_to(folder.resolve()):
            continue  # S3 allows keys such as "../x", a file system does not.
        if inside.endswith("/"):
            target.mkdir(parents=True, exist_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            posix.apply(target, repository.fetch(link.bucket, key, target))
        # S3 has it already: the next export skips it.
        file_system.exported[target.relative_to(file_system.root).as_posix()] = posix.signature(target)
