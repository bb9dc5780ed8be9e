"""What can be seen of AWS while the run lasts, each time it is looked at."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from botocore.exceptions import ClientError
from pydantic import BaseModel

from belay.aws import backend, instances, scratch
from belay.aws.bucket import Bucket
from belay.aws.clients import error_code
from belay.aws.deployment import Clients
from belay.client.live.questions import export_beside, keep, note
from belay.client.live.seen import Export, FailedCall, FileSystem, Instance, Link, RunTask, Seen, Stored
from belay.client.progress import Snapshot
from belay.client.reading import Run
from belay.contract.deployment import Deployment
from belay.contract.states import TeardownState

_ACTIVE = ("PENDING", "EXECUTING")
_ENDED = ("SUCCEEDED", "FAILED", "CANCELED")
_MOST_OBJECTS = 40
_CHECKSUM = "Checksum"
_TROUBLE = ("taskFailedEventDetails", "taskSubmitFailedEventDetails", "taskTimedOutEventDetails")


def _now() -> datetime:
    return datetime.now(UTC)


class Watcher:
    def __init__(
        self, clients: Clients, deployment: Deployment, run: Run, seen: Seen, *, now: Callable[[], datetime] = _now
    ) -> None:
        self._clients, self._deployment, self._run, self._seen, self._now = clients, deployment, run, seen, now
        self._fsx = clients("fsx")
        self.file_system_id: str | None = None
        self._asked_beside = False

    def look(self, snapshot: Snapshot) -> None:
        """A look that fails is one moment less, and no end of the run: the next one follows."""
        train, teardown = self._run.histories
        self.file_system_id = self.file_system_id or file_system_in(train)
        self._seen.run_task = run_task_in(train) or self._seen.run_task
        self._seen.teardown_failures = failed_calls(teardown) if teardown else self._seen.teardown_failures
        if snapshot.ledger:
            self._seen.ledger = snapshot.ledger.entries
        note(self._seen, ("file_system", "links"), self._look_at_fsx)
        if self._seen.file_system:
            self._seen.file_system.deletion_asked_at = entered_at(teardown, TeardownState.DELETE_FILE_SYSTEM)
        note(self._seen, ("instance",), self._look_at_the_instance)
        note(self._seen, ("inspection",), self._read_the_inspection)

    def at_the_end(self) -> None:
        certificate = self._run.certificate()
        self._seen.verdict = certificate.verdict if certificate else None
        keep(self._seen, "stored", lambda: stored_under(self._clients("s3"), self._deployment.bucket, self._run))

    def _look_at_fsx(self) -> None:
        if self.file_system_id is None or (self._seen.file_system and self._seen.file_system.gone_at):
            return
        try:
            [raw] = self._fsx.describe_file_systems(FileSystemIds=[self.file_system_id])["FileSystems"]
        except ClientError as error:
            if error_code(error) != "FileSystemNotFound":
                raise
            if self._seen.file_system:
                self._seen.file_system.gone_at = self._now()
            return
        now = self._now()
        found = self._seen.file_system or FileSystem(created_at=raw["CreationTime"], first_seen_at=now)
        self._seen.file_system = found
        if raw.get("Tags") and found.tagged_at is None:
            found.tagged_at = now
        if raw["Lifecycle"] == "AVAILABLE" and found.ready_at is None:
            found.ready_at = now
        self._look_at_links_and_tasks(self.file_system_id)

    def _look_at_links_and_tasks(self, file_system_id: str) -> None:
        links = scratch.associations(self._fsx, file_system_id)
        tasks = scratch.repository_tasks(self._fsx, file_system_id)
        see_links(self._seen.links, links, tasks, self._now())
        self._seen.exports = exports_in(tasks) or self._seen.exports
        if not self._asked_beside and any(one["Lifecycle"] in _ACTIVE for one in tasks):
            self._asked_beside = True
            keep(
                self._seen,
                "export_beside_another_task",
                lambda: export_beside(self._clients, self._deployment, file_system_id),
            )

    def _look_at_the_instance(self) -> None:
        if self._seen.instance is not None or self._seen.run_task is None:
            return
        registered = backend.of_deployment(self._clients, self._deployment).registered_mib(self._run.prefix.run)
        if registered is None:
            return
        size = instances.size_of(self._clients, self._deployment.instance_type)
        self._seen.instance = Instance(
            type=size.type,
            installed_mib=size.memory_mib,
            most_mib=size.most_memory_mib,
            registered_mib=registered,
        )

    def _read_the_inspection(self) -> None:
        """Of the run's own task: another's line cannot have this run's id, which is made from its execution."""
        if "exported" in self._seen.inspection or self._seen.run_task is None:
            return
        pages = self._clients("logs").get_paginator("filter_log_events")
        asked = {
            "logGroupName": self._deployment.trainer_log_group,
            "startTime": int(self._run.started_at.timestamp() * 1000),
            "filterPattern": f'{{ $.kind = "inspection" && $.run = "{self._run.prefix.run}" }}',
        }
        for line in (line for page in pages.paginate(**asked) for line in page["events"]):
            said = _line_of(line["message"])
            if said:
                self._seen.inspection[said.name] = said.found


class _Line(BaseModel):
    name: str
    found: dict[str, Any]


def _line_of(text: str) -> _Line | None:
    try:
        return _Line.model_validate_json(text)
    except ValueError:
        return None


def file_system_in(train: list[dict[str, Any]]) -> str | None:
    """The one that the run made, as its history says it."""
    for event in train:
        details = event.get("taskSucceededEventDetails")
        if details and details.get("resource") == "createFileSystem":
            return str(json.loads(details["output"])["FileSystem"]["FileSystemId"])
    return None


def run_task_in(train: list[dict[str, Any]]) -> RunTask | None:
    """None until it is known whether the call was taken."""
    has_token, error, is_known = False, None, False
    for event in train:
        scheduled = event.get("taskScheduledEventDetails")
        if scheduled and scheduled["resource"].startswith("runTask"):
            has_token = "ClientToken" in json.loads(scheduled["parameters"])
        submitted = event.get("taskSubmittedEventDetails")
        if submitted and submitted["resource"].startswith("runTask"):
            error, is_known = None, True
        refused = event.get("taskSubmitFailedEventDetails")
        if refused and refused["resource"].startswith("runTask"):
            error, is_known = f"{refused.get('error')}: {refused.get('cause')}", True
    return RunTask(has_token=has_token, error=error) if is_known else None


def entered_at(events: list[dict[str, Any]], state: str) -> datetime | None:
    """The first time."""
    moments = [event["timestamp"] for event in events if event.get("stateEnteredEventDetails", {}).get("name") == state]
    return min(moments, default=None)


def failed_calls(events: list[dict[str, Any]]) -> list[FailedCall]:
    """Of a machine that does one thing after the other: a failure belongs to the state that was entered last."""
    found, state = [], ""
    for event in events:
        if "stateEnteredEventDetails" in event:
            state = event["stateEnteredEventDetails"]["name"]
        for kind in _TROUBLE:
            if details := event.get(kind):
                found.append(FailedCall(state=state, error=str(details.get("error", "?"))))
    return found


def see_links(seen: dict[str, Link], links: list[dict[str, Any]], tasks: list[dict[str, Any]], now: datetime) -> None:
    """`seen`: by the id of the link, with the moments at which a thing was first seen."""
    for raw in links:
        one = seen.setdefault(
            raw["AssociationId"], Link(path=str(raw.get("FileSystemPath", "?")), created_at=raw["CreationTime"])
        )
        if raw["Lifecycle"] == "AVAILABLE" and one.ready_at is None:
            one.ready_at = now
        if raw["Lifecycle"] in ("FAILED", "MISCONFIGURED"):
            one.failure = f"{raw['Lifecycle']}: {raw.get('FailureDetails', {}).get('Message', 'no reason')}"
    imports = sorted((one for one in tasks if one["Type"] == scratch.IMPORT), key=lambda one: one["CreationTime"])
    for task in imports:
        owner = _link_of(task["CreationTime"], list(seen.values()))
        if owner is not None:
            owner.import_created_at = task["CreationTime"]
            owner.import_listed_at = owner.import_listed_at or now
            if task["Lifecycle"] in _ENDED:
                owner.import_ended_at = owner.import_ended_at or now


def _link_of(created_at: datetime, links: list[Link]) -> Link | None:
    """Links are made one after the other: a task belongs to the newest that was there then."""
    in_order = sorted(links, key=lambda one: one.created_at)
    before = [one for one in in_order if one.created_at <= created_at]
    return before[-1] if before else in_order[0] if in_order else None


def exports_in(tasks: list[dict[str, Any]]) -> list[Export]:
    return [
        Export(created_at=one["CreationTime"], ended_at=one["EndTime"], succeeded=one["Lifecycle"] == "SUCCEEDED")
        for one in tasks
        if one["Type"] != scratch.IMPORT and one["Lifecycle"] in _ENDED and one.get("EndTime")
    ]


def stored_under(s3: Any, bucket: str, run: Run) -> list[Stored]:
    """Some of what FSx exported: the files of a checkpoint, and the large one of the inspection."""
    where = Bucket(s3, bucket)
    keys = [one.key for one in where.listing(run.prefix.checkpoints)][:_MOST_OBJECTS]
    keys += [one.key for one in where.listing(f"{run.prefix.root}events/") if one.key.endswith(".bin")]
    return [_stored(s3.head_object(Bucket=bucket, Key=key, ChecksumMode="ENABLED")) for key in keys]


def _stored(head: dict[str, Any]) -> Stored:
    _, _, parts = head["ETag"].strip('"').partition("-")
    algorithms = [name.removeprefix(_CHECKSUM) for name in head if name.startswith(_CHECKSUM)]
    return Stored(
        bytes=head["ContentLength"],
        parts=int(parts or 1),
        checksums=sorted(name for name in algorithms if name != "Type"),
        type=head.get("ChecksumType"),
    )
