"""Data repository tasks: exports, one at a time for each file system."""

from __future__ import annotations

from tools.local_cloud.faults import ExportFails, ExportListedLate
from tools.local_cloud.services.errors import AwsError, NotSupported
from tools.local_cloud.services.fsx import rules
from tools.local_cloud.services.fsx.exports import Exported, PathMissing, changed, export, largest
from tools.local_cloud.services.fsx.model import Association, FileSystem, RepositoryTask, Wire
from tools.local_cloud.services.fsx.report import check_report, write_report
from tools.local_cloud.services.fsx.store import Filters, Store, named, new_id, shown, tags_of
from tools.local_cloud.services.fsx.tokens import Tokens

MISSING = "DataRepositoryTaskNotFound"
FILTERS: Filters = {
    "file-system-id": lambda task: task["FileSystemId"],
    "task-lifecycle": lambda task: task["Lifecycle"],
    "file-cache-id": lambda _task: None,
}
ONLY_AWS_HAS = ("data-repository-association-id",)


class RepositoryTasks:
    """The data repository task operations."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._tokens: Tokens[RepositoryTask] = Tokens()

    def create(self, request: Wire) -> Wire:
        with self._store.lock:
            made = self._tokens.once(request, self._new)
            return {"DataRepositoryTask": made.describe(self._store.clock.now())}

    def _new(self, request: Wire) -> RepositoryTask:
        if request["Type"] != "EXPORT_TO_REPOSITORY":
            raise NotSupported(f"FSx data repository task type {request['Type']}")
        owner = self._store.available(request["FileSystemId"])
        links = self._store.links(owner.id)
        # "Will fail if a data repository is not linked to the FSx file system" (botocore's model); [?] by which name.
        if not any(link.lifecycle == "AVAILABLE" for link in links):
            raise rules.bad(f"File system {owner.id} is not linked to a data repository.")
        check_report(request["Report"], links)
        if busy := self._store.active_task(owner.id):
            raise AwsError("DataRepositoryTaskExecuting", f"Data repository task {busy.id} is already in progress.")
        made = RepositoryTask(
            id=new_id("task"),
            file_system_id=owner.id,
            request=request,
            created_at=self._store.clock.now(),
            tags=tags_of(request),
        )
        self._store.tasks[made.id] = made
        if late := self._store.faults.take(ExportListedLate, owner.tags):
            made.hidden = True
            self._store.clock.after(late.seconds, lambda: setattr(made, "hidden", False))
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
            listed = {name: one for name, one in self._store.tasks.items() if not one.hidden}
            now = self._store.clock.now()
            found = (one.describe(now) for one in named(listed, request.get("TaskIds"), missing=MISSING))
            return shown("DataRepositoryTasks", found, request, filters=FILTERS, unbuilt=ONLY_AWS_HAS)

    def cancel(self, request: Wire) -> Wire:
        with self._store.lock:
            (found,) = named(self._store.tasks, [request["TaskId"]], missing=MISSING)
            if not found.active:
                raise AwsError("DataRepositoryTaskEnded", f"Data repository task {found.id} has ended.")
            found.lifecycle = "CANCELING"
            return {"TaskId": found.id, "Lifecycle": "CANCELING"}
