"""Exports: what goes to S3, what is left out, and how a task ends."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tools.local_cloud.faults import ExportFails, ExportListedLate, LinkFails

from .conftest import HOUR, World

Ready = Callable[[], tuple[World, str, Path]]


def save(folder: Path, step: int, size: int = 10) -> None:
    checkpoint = folder / "checkpoints" / f"checkpoint-{step}"
    checkpoint.mkdir(parents=True)
    (checkpoint / "model").write_bytes(b"m" * size)
    (checkpoint / "manifest").write_bytes(b"{}")


def test_files_and_folders_are_exported_with_their_metadata(ready: Ready) -> None:
    world, name, run = ready()
    save(run, 1)
    (run / "checkpoints" / "checkpoint-1" / "model").chmod(0o640)
    task = world.export(name, "run/checkpoints")

    assert task["Lifecycle"] == "SUCCEEDED"
    assert "FailureDetails" not in task
    assert (task["Status"]["TotalCount"], task["Status"]["SucceededCount"], task["Status"]["FailedCount"]) == (4, 4, 0)
    content, metadata = world.s3.objects["b"]["jobs/a/checkpoints/checkpoint-1/model"]
    assert content == b"m" * 10
    assert metadata["file-permissions"] == "0100640"
    assert metadata["file-owner"] == str(os.getuid())
    assert metadata["file-mtime"].endswith("ns")
    assert "jobs/a/checkpoints/checkpoint-1/" in world.s3.objects["b"]


def test_a_second_export_takes_only_what_changed(ready: Ready) -> None:
    world, name, run = ready()
    save(run, 1)
    world.export(name, "run/checkpoints")
    world.s3.stored.clear()
    save(run, 2)
    (run / "checkpoints" / "checkpoint-1" / "manifest").write_bytes(b"{1}")
    world.export(name, "run/checkpoints")
    assert sorted(world.s3.stored) == [
        "jobs/a/checkpoints/checkpoint-1/manifest",
        "jobs/a/checkpoints/checkpoint-2/",
        "jobs/a/checkpoints/checkpoint-2/manifest",
        "jobs/a/checkpoints/checkpoint-2/model",
    ]


def test_what_was_imported_is_not_exported_again(world: World) -> None:
    world.s3.objects["b"] = {"jobs/a/run.json": (b"{}", {})}
    name = world.file_system()
    world.link(name, BatchImportMetaDataOnCreate=True)
    world.export(name, "run")
    assert world.s3.stored == ["jobs/a/"]


def test_only_the_paths_of_the_task_are_exported(ready: Ready) -> None:
    world, name, run = ready()
    save(run, 1)
    (run / "staging").mkdir()
    (run / "staging" / "half").write_text("x")
    world.export(name, "run/checkpoints")
    assert not [key for key in world.s3.stored if "staging" in key]


def test_a_path_that_is_not_there_fails_the_whole_task(ready: Ready) -> None:
    world, name, run = ready()
    save(run, 1)
    task = world.export(name, "run/checkpoints", "run/events")
    assert task["Lifecycle"] == "FAILED"
    assert "run/events is not valid" in task["FailureDetails"]["Message"]


def test_a_path_outside_the_file_system_fails_the_task(ready: Ready) -> None:
    world, name, _run = ready()
    assert world.export(name, "../..")["Lifecycle"] == "FAILED"


def test_a_path_with_two_dots_fails_the_task_though_it_leads_inside(ready: Ready) -> None:
    world, name, run = ready()
    save(run, 1)
    assert world.export(name, "run/../run/checkpoints")["Lifecycle"] == "FAILED"
    assert world.s3.stored == []


def test_a_file_system_without_an_association_exports_nothing(world: World) -> None:
    name = world.file_system()
    asked = {"Type": "EXPORT_TO_REPOSITORY", "Report": {"Enabled": False}}
    refused = world.refused("CreateDataRepositoryTask", FileSystemId=name, **asked)
    assert (refused.code, "is not linked" in refused.message) == ("BadRequest", True)


def test_a_link_that_failed_does_not_count_for_an_export(world: World) -> None:
    world.faults.add(LinkFails(lifecycle="FAILED"))
    name = world.file_system()
    world.link(name)
    asked = {"Type": "EXPORT_TO_REPOSITORY", "Report": {"Enabled": False}}
    assert world.refused("CreateDataRepositoryTask", FileSystemId=name, **asked).code == "BadRequest"


def test_an_association_cannot_be_deleted_during_an_export(ready: Ready) -> None:
    world, name, _run = ready()
    (link,) = world.call("DescribeDataRepositoryAssociations")["Associations"]
    world.start_export(name, "run")
    asked = {"AssociationId": link["AssociationId"]}
    assert world.refused("DeleteDataRepositoryAssociation", **asked).code == "BadRequest"
    world.clock.advance(HOUR)
    assert world.call("DeleteDataRepositoryAssociation", **asked)["Lifecycle"] == "DELETING"


def test_under_a_fault_a_new_export_is_listed_late(ready: Ready) -> None:
    world, name, _run = ready()
    world.faults.add(ExportListedLate(seconds=90))
    task = world.start_export(name, "run")
    assert world.call("DescribeDataRepositoryTasks")["DataRepositoryTasks"] == []
    refused = world.refused("DescribeDataRepositoryTasks", TaskIds=[task["TaskId"]])
    assert refused.code == "DataRepositoryTaskNotFound"
    # It is there all the same.
    assert world.refused("DeleteFileSystem", FileSystemId=name).code == "BadRequest"
    world.clock.advance(91)
    assert world.task(task["TaskId"])["TaskId"] == task["TaskId"]


def test_a_file_outside_every_association_is_skipped_and_the_task_succeeds(ready: Ready) -> None:
    world, name, _run = ready()
    stray = world.mount(name) / "stray"
    stray.write_text("x")
    assert world.export(name, "stray")["Lifecycle"] == "SUCCEEDED"
    assert world.s3.stored == []


def test_a_second_task_is_refused_while_one_is_pending_or_executing(ready: Ready) -> None:
    world, name, run = ready()
    save(run, 1)
    first = world.start_export(name, "run")
    asked = {"Type": "EXPORT_TO_REPOSITORY", "Paths": ["run"], "Report": {"Enabled": False}}
    assert world.task(first["TaskId"])["Lifecycle"] == "PENDING"
    assert world.refused("CreateDataRepositoryTask", FileSystemId=name, **asked).code == "DataRepositoryTaskExecuting"
    world.clock.advance(61)
    assert world.task(first["TaskId"])["Lifecycle"] == "EXECUTING"
    assert world.refused("CreateDataRepositoryTask", FileSystemId=name, **asked).code == "DataRepositoryTaskExecuting"
    world.clock.advance(HOUR)
    world.start_export(name, "run")


def test_the_same_token_gives_the_same_task(ready: Ready) -> None:
    world, name, _run = ready()
    first = world.start_export(name, "run", ClientRequestToken="t")
    assert world.start_export(name, "run", ClientRequestToken="t")["TaskId"] == first["TaskId"]


def test_a_cancelled_task_exports_nothing(ready: Ready) -> None:
    world, name, run = ready()
    save(run, 1)
    task = world.start_export(name, "run")
    world.call("CancelDataRepositoryTask", TaskId=task["TaskId"])
    world.clock.advance(HOUR)
    assert world.task(task["TaskId"])["Lifecycle"] == "CANCELED"
    assert world.s3.stored == []
    assert world.refused("CancelDataRepositoryTask", TaskId=task["TaskId"]).code == "DataRepositoryTaskEnded"


def test_a_failing_export_fails_once_and_the_next_one_has_everything(ready: Ready) -> None:
    world, name, run = ready()
    save(run, 1)
    world.faults.add(ExportFails(how="failed", times=1))
    failed = world.export(name, "run/checkpoints")
    assert failed["Lifecycle"] == "FAILED"
    assert failed["FailureDetails"]["Message"]
    assert world.export(name, "run/checkpoints")["Lifecycle"] == "SUCCEEDED"
    assert "jobs/a/checkpoints/checkpoint-1/model" in world.s3.stored


def test_a_skipping_export_succeeds_without_the_largest_file_until_the_next(ready: Ready) -> None:
    world, name, run = ready()
    save(run, 1)
    world.faults.add(ExportFails(how="skipped", times=1))
    assert world.export(name, "run/checkpoints")["Lifecycle"] == "SUCCEEDED"
    assert "jobs/a/checkpoints/checkpoint-1/manifest" in world.s3.stored
    assert "jobs/a/checkpoints/checkpoint-1/model" not in world.s3.stored
    world.export(name, "run/checkpoints")
    assert "jobs/a/checkpoints/checkpoint-1/model" in world.s3.stored


def test_a_symbolic_link_is_exported_as_one(ready: Ready) -> None:
    world, name, run = ready()
    (run / "latest").symlink_to("checkpoint-1")
    world.export(name, "run")
    content, metadata = world.s3.objects["b"]["jobs/a/latest"]
    assert content == b"checkpoint-1"
    assert metadata["file-permissions"].startswith("0120")


@pytest.mark.parametrize(
    "report",
    [
        {"Enabled": True, "Path": "s3://b/elsewhere/", "Format": "REPORT_CSV_20191124", "Scope": "FAILED_FILES_ONLY"},
        {"Enabled": True, "Path": "s3://b/jobs/a/reports", "Format": "CSV", "Scope": "FAILED_FILES_ONLY"},
        {},
    ],
)
def test_a_report_that_fsx_could_not_write_is_refused(ready: Ready, report: dict[str, object]) -> None:
    world, name, _run = ready()
    asked = {"Type": "EXPORT_TO_REPOSITORY", "Paths": ["run"], "Report": report}
    assert world.refused("CreateDataRepositoryTask", FileSystemId=name, **asked).code == "BadRequest"


def test_files_that_cannot_be_stored_fail_the_task_and_are_listed_in_the_report(
    ready: Ready, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, name, run = ready()
    save(run, 1)
    store = world.s3.store

    def refuse_models(bucket: str, key: str, content: Path | bytes, metadata: dict[str, str]) -> None:
        if key.endswith("model"):
            raise OSError("no")
        store(bucket, key, content, metadata)

    monkeypatch.setattr(world.s3, "store", refuse_models)
    report = {"Enabled": True, "Path": "s3://b/jobs/a/reports", "Format": "REPORT_CSV_20191124"}
    task = world.start_export(name, "run/checkpoints", Report={**report, "Scope": "FAILED_FILES_ONLY"})
    world.clock.advance(HOUR)
    ended = world.task(task["TaskId"])
    assert (ended["Lifecycle"], ended["Status"]["FailedCount"]) == ("FAILED", 1)
    written, _ = world.s3.objects["b"][f"jobs/a/reports/{task['TaskId']}/failures.csv"]
    assert b"run/checkpoints/checkpoint-1/model" in written
