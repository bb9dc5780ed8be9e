"""Data repository tasks: exports, one at a time for each file system."""

from __future__ import annotations

from local_cloud.faults import ExportFails
from local_cloud.services.fsx import rules
from local_cloud.services.fsx.exports import Exported, PathMissing, changed, export, largest
from local_cloud.services.fsx.model import Association, FileSystem, RepositoryTask, Wire
from local_cloud.services.fsx.report import check_report, write_report
from local_cloud.services.fsx.store import Store, named, new_id, shown, tags_of
from local_cloud.services.fsx.tokens import Tokens
from local_cloud.services.refusal import NotBuilt, Refused

MISSING = "DataRepositoryTaskNotFound"
FILTERS = {"file-system-id": "FileSystemId", "task-lifecycle": "Lifecycle"}
MOST_PATHS = 100


class RepositoryTasks:
    """The data repository task operations."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._tokens: Tokens[RepositoryTask] = Tokens()

    def create(self, request: Wire) -> Wire:
        with self._store.lock:
            made = self._tokens.made(request)
            if made is None:
                made = self._new(request)
                self._tokens.remember(request, made)
            return {"DataRepositoryTask": made.describe(self._store.clock.now())}

    def _new(self, request: Wire) -> RepositoryTask:
        if request.get("Type") != "EXPORT_TO_REPOSITORY":
            raise NotBuilt(f"FSx data repository task type {request.get('Type')}")
        owner = self._store.available(request.get("FileSystemId"))
        check_report(request.get("Report"), self._store.links(owner.id))
        if len(request.get("Paths") or []) > MOST_PATHS:
            raise rules.bad(f"At most {MOST_PATHS} paths are allowed.")
        if busy := self._store.active_task(owner.id):
            raise Refused("DataRepositoryTaskExecuting", f"Data repository task {busy.id} is already in progress.")
        made = RepositoryTask(
            id=new_id("task"),
            file_system_id=owner.id,
            request=request,
            created_at=self._store.clock.now(),
            tags=tags_of(request),
        )
        self._store.tasks[made.id] = made
        self._store.clock.after(self._store.delays.start_task, lambda: self._run(owner, made))
        return made

    def _run(self, owner: FileSystem, task: RepositoryTask) -> None:
        with self._store.lock:
            if task.lifecycle == "CANCELING":
                self._end(task)
                return
            task.lifecycle, task.started_at = "EXECUTING", self._store.clock.now()
            links = [link for link in self._store.links(owner.id) if link.lifecycle == "AVAILABLE"]
            fault = self._store.faults.take(ExportFails, owner.tags)
        if fault and fault.how == "failed":
            task.failure = "The data repository task failed: the repository could not be written."
        else:
            self._export(owner, task, links, incomplete=fault is not None)
        self._store.clock.after(self._store.delays.end_task, lambda: self._end(task))

    def _export(self, owner: FileSystem, task: RepositoryTask, links: list[Association], *, incomplete: bool) -> None:
        paths = task.request.get("Paths") or []
        try:
            skip = largest(changed(owner, paths)) if incomplete else None
            done = export(owner, paths, links, self._store.repository, skip=skip)
        except PathMissing as missing:
            done = Exported()
            task.failure = f"The path {missing} is not valid: it is not on the file system."
        task.total, task.succeeded, task.failed = done.total, done.succeeded, len(done.failed)
        write_report(task, done.failed, self._store.repository)
        if done.failed:
            task.failure = f"{len(done.failed)} of {done.total} files could not be exported."

    def _end(self, task: RepositoryTask) -> None:
        with self._store.lock:
            if task.lifecycle == "CANCELING":
                task.lifecycle = "CANCELED"
            else:
                task.lifecycle = "FAILED" if task.failure else "SUCCEEDED"
            task.ended_at = self._store.clock.now()

    def describe(self, request: Wire) -> Wire:
        with self._store.lock:
            found = named(self._store.tasks, request.get("TaskIds"), missing=MISSING)
            now = self._store.clock.now()
            return shown("DataRepositoryTasks", (one.describe(now) for one in found), request, filters=FILTERS)

    def cancel(self, request: Wire) -> Wire:
        with self._store.lock:
            (found,) = named(self._store.tasks, [request.get("TaskId", "")], missing=MISSING)
            if not found.active:
                raise Refused("DataRepositoryTaskEnded", f"Data repository task {found.id} has ended.")
            found.lifecycle = "CANCELING"
            return {"TaskId": found.id, "Lifecycle": "CANCELING"}
