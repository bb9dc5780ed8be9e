"""FSx: a run's file system, known by its tags, and its links and export tasks."""

import contextlib
from collections.abc import Iterator
from typing import Any

from botocore.exceptions import ClientError

from belay.aws.clients import error_code
from belay.contract import tags
from belay.contract.messages.probes import Phase
from belay.policy import phases
from belay.policy.file_system import FileSystem
from belay.policy.phases import Reading

IMPORT = "IMPORT_METADATA_FROM_REPOSITORY"
_NEWS_OF_THE_END = Reading(Phase.GONE, "the file system is gone")


def tagged(fsx: Any, wanted: dict[str, str]) -> list[FileSystem]:
    """Every file system with all of these tags, those that may hold work first, then the oldest first."""
    pages = fsx.get_paginator("describe_file_systems").paginate()
    found = [_file_system(raw) for page in pages for raw in page["FileSystems"] if raw["FileSystemType"] == "LUSTRE"]
    mine = [one for one in found if wanted.items() <= one.tags.items()]
    return sorted(mine, key=lambda one: (one.state == tags.State.EMPTY, one.created_at, one.id))


def by_id(fsx: Any, file_system_id: str) -> FileSystem | None:
    try:
        answer = fsx.describe_file_systems(FileSystemIds=[file_system_id])
    except ClientError as error:
        if error_code(error) == "FileSystemNotFound":
            return None
        raise
    return _file_system(answer["FileSystems"][0]) if answer["FileSystems"] else None


def reading_of(file_system: FileSystem | None) -> Reading:
    return file_system.reading if file_system else _NEWS_OF_THE_END


def associations(fsx: Any, file_system_id: str) -> list[dict[str, Any]]:
    return list(_all(fsx.describe_data_repository_associations, "Associations", file_system_id))


def repository_tasks(fsx: Any, file_system_id: str) -> list[dict[str, Any]]:
    return list(_all(fsx.describe_data_repository_tasks, "DataRepositoryTasks", file_system_id))


def link(fsx: Any, file_system_id: str, association_id: str) -> Reading:
    """How far a link is, with the import task that it began. Links are made one after the other."""
    try:
        raw = fsx.describe_data_repository_associations(AssociationIds=[association_id])["Associations"][0]
    except ClientError as error:
        if error_code(error) in ("DataRepositoryAssociationNotFound", "FileSystemNotFound"):
            return Reading(Phase.GONE, "the link to S3 is gone")
        raise
    reading = phases.of_link(raw["Lifecycle"], _failure(raw))
    if reading.phase is not Phase.READY:
        return reading
    tasks = repository_tasks(fsx, file_system_id)
    imports = [one for one in tasks if one["Type"] == IMPORT and one["CreationTime"] >= raw["CreationTime"]]
    return phases.of_linked(reading, [phases.of_import(one["Lifecycle"], _failure(one)) for one in imports])


def export_task(fsx: Any, task_id: str) -> Reading:
    try:
        answer = fsx.describe_data_repository_tasks(TaskIds=[task_id])
    except ClientError as error:
        if error_code(error) == "DataRepositoryTaskNotFound":
            return Reading(Phase.GONE, "FSx no longer knows the export task")
        raise
    raw = answer["DataRepositoryTasks"][0]
    return phases.of_export(raw["Lifecycle"], _failure(raw))


def export_running(fsx: Any, file_system_id: str) -> bool:
    """A file system has one place for a data repository task, its own or another's."""
    unfinished = [word for word, phase in phases.EXPORT.items() if phase is Phase.PENDING]
    raws = _all(
        fsx.describe_data_repository_tasks,
        "DataRepositoryTasks",
        file_system_id,
        {"Name": "task-lifecycle", "Values": unfinished},
    )
    return any(raw["Lifecycle"] in unfinished for raw in raws)


def start_export(fsx: Any, file_system_id: str, *, paths: list[str], token: str) -> str | None:
    """The new task's id; None where another took the place between our look and now."""
    with contextlib.suppress(fsx.exceptions.DataRepositoryTaskExecuting):
        answer = fsx.create_data_repository_task(
            FileSystemId=file_system_id,
            Type="EXPORT_TO_REPOSITORY",
            Paths=paths,
            Report={"Enabled": False},
            ClientRequestToken=token,
        )
        return str(answer["DataRepositoryTask"]["TaskId"])
    return None


def _file_system(raw: dict[str, Any]) -> FileSystem:
    lifecycle = raw["Lifecycle"]
    return FileSystem(
        id=raw["FileSystemId"],
        arn=raw["ResourceARN"],
        tags={tag["Key"]: tag["Value"] for tag in raw.get("Tags", [])},
        reading=phases.of_file_system(lifecycle, _failure(raw)),
        created_at=raw["CreationTime"],
        dns_name=raw.get("DNSName"),
        mount_name=raw.get("LustreConfiguration", {}).get("MountName"),
    )


def _failure(raw: dict[str, Any]) -> str:
    return str(raw.get("FailureDetails", {}).get("Message", ""))


def _all(describe: Any, key: str, file_system_id: str, *filters: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """botocore has no paginator for these two."""
    token: dict[str, str] = {}
    while True:
        page = describe(Filters=[{"Name": "file-system-id", "Values": [file_system_id]}, *filters], **token)
        yield from page[key]
        if not page.get("NextToken"):
            return
        token = {"NextToken": page["NextToken"]}
