"""How an association comes about: one after the other, and names by a task that FSx lists later."""

from __future__ import annotations

from typing import Any

from tools.local_cloud.faults import ImportFails, LinkFails

from .conftest import HOUR, World


def ask(world: World, name: str, folder: str, target: str) -> str:
    made = world.call(
        "CreateDataRepositoryAssociation",
        FileSystemId=name,
        FileSystemPath=folder,
        DataRepositoryPath=target,
        BatchImportMetaDataOnCreate=True,
    )
    return str(made["Association"]["AssociationId"])


def link(world: World, id: str) -> dict[str, Any]:
    return dict(world.call("DescribeDataRepositoryAssociations", AssociationIds=[id])["Associations"][0])


def imports(world: World, name: str) -> list[str]:
    asked = [{"Name": "file-system-id", "Values": [name]}]
    tasks = world.call("DescribeDataRepositoryTasks", Filters=asked)["DataRepositoryTasks"]
    return [one["Lifecycle"] for one in tasks if one["Type"] == "IMPORT_METADATA_FROM_REPOSITORY"]


def test_two_requests_for_one_bucket_are_worked_on_one_after_the_other(world: World) -> None:
    name = world.file_system()
    first = ask(world, name, "/run", "s3://b/jobs/a/")
    world.clock.advance(100)
    second = ask(world, name, "/data", "s3://b/datasets/")
    world.clock.advance(145)
    assert (link(world, first)["Lifecycle"], link(world, second)["Lifecycle"]) == ("AVAILABLE", "CREATING")
    world.clock.advance(HOUR)
    assert link(world, second)["Lifecycle"] == "AVAILABLE"


def test_requests_beside_each_other_for_two_buckets_fail_with_a_reason_that_is_not_true(world: World) -> None:
    world.s3.objects["c"] = {}
    name = world.file_system()
    first, second = ask(world, name, "/run", "s3://b/jobs/a/"), ask(world, name, "/data", "s3://c/")
    world.clock.advance(HOUR)
    ends = [link(world, one) for one in (first, second)]
    assert "FAILED" in [end["Lifecycle"] for end in ends]
    assert any("cannot access" in end.get("FailureDetails", {}).get("Message", "") for end in ends)


def test_names_appear_by_a_task_that_is_listed_after_the_association_is_available(world: World) -> None:
    world.s3.objects["b"] = {"jobs/a/run.json": (b"{}", {})}
    name = world.file_system()
    made = ask(world, name, "/run", "s3://b/jobs/a/")
    world.clock.advance(245)
    run = world.mount(name) / "run"
    assert (link(world, made)["Lifecycle"], imports(world, name), list(run.iterdir())) == ("AVAILABLE", [], [])
    world.clock.advance(30)
    assert (imports(world, name), list(run.iterdir())) == (["PENDING"], [])
    world.clock.advance(60)
    assert (imports(world, name), [path.name for path in run.iterdir()]) == (["SUCCEEDED"], ["run.json"])


def test_an_import_that_fails_shows_nothing(world: World) -> None:
    world.s3.objects["b"] = {"jobs/a/run.json": (b"{}", {})}
    world.faults.add(ImportFails(times=1))
    name = world.file_system()
    ask(world, name, "/run", "s3://b/jobs/a/")
    world.clock.advance(HOUR)
    assert (imports(world, name), list((world.mount(name) / "run").iterdir())) == (["FAILED"], [])


def test_an_export_is_refused_while_names_are_imported(world: World) -> None:
    """A file system has one place for a data repository task, whoever asked for it."""
    name = world.file_system()
    ask(world, name, "/run", "s3://b/jobs/a/")
    world.clock.advance(290)
    assert imports(world, name) == ["PENDING"]
    asked = {"FileSystemId": name, "Type": "EXPORT_TO_REPOSITORY", "Paths": ["run"], "Report": {"Enabled": False}}
    assert world.refused("CreateDataRepositoryTask", **asked).code == "DataRepositoryTaskExecuting"


def test_a_link_that_failed_is_removed_and_made_again(world: World) -> None:
    world.faults.add(LinkFails(lifecycle="FAILED", times=1))
    name = world.file_system()
    failed = ask(world, name, "/run", "s3://b/jobs/a/")
    world.clock.advance(HOUR)
    assert link(world, failed)["Lifecycle"] == "FAILED"
    world.call("DeleteDataRepositoryAssociation", AssociationId=failed)
    world.clock.advance(HOUR)
    again = ask(world, name, "/run", "s3://b/jobs/a/")
    world.clock.advance(HOUR)
    assert (link(world, again)["Lifecycle"], imports(world, name)) == ("AVAILABLE", ["SUCCEEDED"])
