"""File systems: what is refused, their lifecycle, tokens, pages and tags."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from tools.local_cloud.faults import FileSystemFails

from .conftest import HOUR, SCRATCH, World


def lifecycle(world: World, name: str) -> str:
    return str(world.call("DescribeFileSystems", FileSystemIds=[name])["FileSystems"][0]["Lifecycle"])


@pytest.mark.parametrize("gib", [0, 1000, 1201, 3600, 4801])
def test_a_size_that_does_not_exist_is_refused(world: World, gib: int) -> None:
    assert world.refused("CreateFileSystem", **{**SCRATCH, "StorageCapacity": gib}).code == "BadRequest"


@pytest.mark.parametrize("gib", [1200, 2400, 4800, 7200])
def test_a_size_that_exists_is_made(world: World, gib: int) -> None:
    assert world.call("CreateFileSystem", **{**SCRATCH, "StorageCapacity": gib})["FileSystem"]["StorageCapacity"] == gib


@pytest.mark.parametrize(
    "lustre",
    [
        {"DeploymentType": "SCRATCH_2", "PerUnitStorageThroughput": 125},
        {"DeploymentType": "PERSISTENT_2"},
        {"DeploymentType": "PERSISTENT_2", "PerUnitStorageThroughput": 200},
        {"DeploymentType": "SCRATCH_3"},
    ],
)
def test_throughput_belongs_to_persistent_file_systems_alone(world: World, lustre: dict[str, Any]) -> None:
    assert world.refused("CreateFileSystem", **{**SCRATCH, "LustreConfiguration": lustre}).code == "BadRequest"


def test_what_is_not_built_says_so(world: World) -> None:
    assert "WINDOWS" in world.refused("CreateFileSystem", **{**SCRATCH, "FileSystemType": "WINDOWS"}).message
    legacy = {"DeploymentType": "SCRATCH_2", "ImportPath": "s3://b/x"}
    assert world.refused("CreateFileSystem", **{**SCRATCH, "LustreConfiguration": legacy}).code == "NotImplemented"


def test_the_default_version_is_the_old_one(world: World) -> None:
    asked = {key: value for key, value in SCRATCH.items() if key != "FileSystemTypeVersion"}
    assert world.call("CreateFileSystem", **asked)["FileSystem"]["FileSystemTypeVersion"] == "2.10"


def test_creating_and_deleting_take_time(world: World) -> None:
    made = world.call("CreateFileSystem", **SCRATCH)["FileSystem"]
    name = made["FileSystemId"]
    assert made["Lifecycle"] == "CREATING"
    world.clock.advance(60)
    assert lifecycle(world, name) == "CREATING"
    world.clock.advance(HOUR)
    assert lifecycle(world, name) == "AVAILABLE"

    assert world.call("DeleteFileSystem", FileSystemId=name)["Lifecycle"] == "DELETING"
    assert lifecycle(world, name) == "DELETING"
    world.clock.advance(HOUR)
    assert world.refused("DescribeFileSystems", FileSystemIds=[name]).code == "FileSystemNotFound"
    assert list(world.root.iterdir()) == []


@pytest.mark.parametrize("how", ["FAILED", "MISCONFIGURED"])
def test_a_file_system_that_could_not_be_created_can_be_deleted(
    world: World, how: Literal["FAILED", "MISCONFIGURED"]
) -> None:
    world.faults.add(FileSystemFails(lifecycle=how))
    name = world.call("CreateFileSystem", **SCRATCH)["FileSystem"]["FileSystemId"]
    world.clock.advance(HOUR)
    assert lifecycle(world, name) == how
    world.call("DeleteFileSystem", FileSystemId=name)
    world.clock.advance(HOUR)
    assert world.refused("DescribeFileSystems", FileSystemIds=[name]).code == "FileSystemNotFound"


def test_a_file_system_that_stays_creating_becomes_available_when_the_fault_is_removed(world: World) -> None:
    world.faults.add(FileSystemFails(lifecycle="CREATING"))
    name = world.call("CreateFileSystem", **SCRATCH)["FileSystem"]["FileSystemId"]
    world.clock.advance(5 * HOUR)
    assert lifecycle(world, name) == "CREATING"
    world.faults.clear()
    world.clock.advance(HOUR)
    assert lifecycle(world, name) == "AVAILABLE"


def test_a_file_system_deleted_while_it_is_created_never_becomes_available(world: World) -> None:
    name = world.call("CreateFileSystem", **SCRATCH)["FileSystem"]["FileSystemId"]
    world.clock.advance(300)
    world.call("DeleteFileSystem", FileSystemId=name)
    world.clock.advance(100)
    assert lifecycle(world, name) == "DELETING"


def test_the_same_token_gives_the_same_file_system(world: World) -> None:
    one = world.call("CreateFileSystem", **SCRATCH, ClientRequestToken="t")["FileSystem"]["FileSystemId"]
    two = world.call("CreateFileSystem", **SCRATCH, ClientRequestToken="t")["FileSystem"]["FileSystemId"]
    other = world.call("CreateFileSystem", **SCRATCH, ClientRequestToken="u")["FileSystem"]["FileSystemId"]
    assert one == two != other


def test_a_token_with_other_parameters_is_a_mistake(world: World) -> None:
    world.call("CreateFileSystem", **SCRATCH, ClientRequestToken="t")
    refused = world.refused("CreateFileSystem", **{**SCRATCH, "StorageCapacity": 2400}, ClientRequestToken="t")
    assert refused.code == "IncompatibleParameterError"


def test_deleting_scratch_takes_no_configuration_not_even_an_empty_one(world: World) -> None:
    name = world.file_system()
    assert world.refused("DeleteFileSystem", FileSystemId=name, LustreConfiguration={}).code == "BadRequest"


def test_deleting_is_refused_while_a_task_runs(world: World) -> None:
    name = world.file_system()
    world.link(name)
    world.start_export(name, "run")
    assert world.refused("DeleteFileSystem", FileSystemId=name).code == "BadRequest"
    world.clock.advance(HOUR)
    world.call("DeleteFileSystem", FileSystemId=name)


def test_file_systems_come_in_pages(world: World) -> None:
    names = {world.file_system() for _ in range(3)}
    first = world.call("DescribeFileSystems", MaxResults=2)
    rest = world.call("DescribeFileSystems", MaxResults=2, NextToken=first["NextToken"])
    assert "NextToken" not in rest
    assert {one["FileSystemId"] for one in [*first["FileSystems"], *rest["FileSystems"]]} == names


def test_tags_are_added_changed_and_removed(world: World) -> None:
    made = world.call("CreateFileSystem", **SCRATCH, Tags=[{"Key": "a", "Value": "1"}])["FileSystem"]
    arn = made["ResourceARN"]
    world.call("TagResource", ResourceARN=arn, Tags=[{"Key": "a", "Value": "2"}, {"Key": "b", "Value": "3"}])
    world.call("UntagResource", ResourceARN=arn, TagKeys=["b", "never"])
    assert world.call("ListTagsForResource", ResourceARN=arn) == {"Tags": [{"Key": "a", "Value": "2"}]}
    assert (
        world.refused("TagResource", ResourceARN=arn[:-1] + "x", Tags=[{"Key": "a", "Value": ""}]).code
        == "ResourceNotFound"
    )
