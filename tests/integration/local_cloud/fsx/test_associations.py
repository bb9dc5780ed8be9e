"""Associations: which paths are allowed, and what they import."""

from __future__ import annotations

import pytest

from tools.local_cloud.faults import LinkFails

from .conftest import HOUR, PERSISTENT, SCRATCH, World


def asked(name: str, folder: str, prefix: str) -> dict[str, str]:
    return {"FileSystemId": name, "FileSystemPath": folder, "DataRepositoryPath": f"s3://b/{prefix}"}


@pytest.mark.parametrize(
    ("folder", "prefix"),
    [
        ("/run", "other/"),
        ("/run/inside", "other/"),
        ("/", "other/"),
        ("/b", "jobs/a/"),
        ("/b", "jobs/"),
        ("/b", "jobs/a/x/"),
    ],
)
def test_paths_that_overlap_on_either_side_are_refused(world: World, folder: str, prefix: str) -> None:
    name = world.file_system()
    world.link(name, "/run", "jobs/a/")
    refused = world.refused("CreateDataRepositoryAssociation", **asked(name, folder, prefix))
    assert (refused.code, "overlaps" in refused.message) == ("BadRequest", True)


@pytest.mark.parametrize(("folder", "prefix"), [("/run2", "jobs/ab/"), ("/data", "datasets/x/")])
def test_paths_beside_each_other_do_not_overlap(world: World, folder: str, prefix: str) -> None:
    name = world.file_system()
    world.link(name, "/run", "jobs/a/")
    world.link(name, folder, prefix)


def test_the_ninth_association_is_too_many(world: World) -> None:
    name = world.file_system()
    for number in range(8):
        world.link(name, f"/d{number}", f"p{number}/")
    refused = world.refused("CreateDataRepositoryAssociation", **asked(name, "/d9", "p9/"))
    assert refused.code == "ServiceLimitExceeded"


def test_an_old_lustre_takes_no_association(world: World) -> None:
    name = world.file_system(FileSystemTypeVersion="2.10")
    assert world.refused("CreateDataRepositoryAssociation", **asked(name, "/run", "a/")).code == "BadRequest"


@pytest.mark.parametrize(
    "backups",
    [
        {"AutomaticBackupRetentionDays": 7},
        {},
        {"AutomaticBackupRetentionDays": 7, "CopyTagsToBackups": True},
    ],
)
def test_a_file_system_with_backups_takes_no_association(world: World, backups: dict[str, object]) -> None:
    lustre = {"DeploymentType": "PERSISTENT_2", "PerUnitStorageThroughput": 125, **backups}
    name = world.file_system(LustreConfiguration=lustre)
    refused = world.refused("CreateDataRepositoryAssociation", **asked(name, "/run", "a/"))
    assert (refused.code, "AutomaticBackupRetentionDays 0" in refused.message) == ("BadRequest", True)


def test_a_persistent_file_system_without_backups_takes_an_association(world: World) -> None:
    world.link(world.file_system(**PERSISTENT))


@pytest.mark.parametrize("path", [None, "run", "/run/../other", "/./run"])
def test_a_path_that_is_none_is_refused(world: World, path: str | None) -> None:
    link = {**asked(world.file_system(), "/run", "a/"), "FileSystemPath": path}
    refused = world.refused("CreateDataRepositoryAssociation", **{k: v for k, v in link.items() if v is not None})
    assert refused.code == "BadRequest"


@pytest.mark.parametrize("repository", ["b/jobs/", "s3://", "s3:///jobs/", "nfs://b/jobs/"])
def test_a_repository_that_is_no_bucket_is_refused(world: World, repository: str) -> None:
    link = {**asked(world.file_system(), "/run", "a/"), "DataRepositoryPath": repository}
    assert world.refused("CreateDataRepositoryAssociation", **link).code == "BadRequest"


def test_a_file_system_that_is_not_ready_takes_no_association(world: World) -> None:
    name = world.call("CreateFileSystem", **SCRATCH)["FileSystem"]["FileSystemId"]
    assert world.refused("CreateDataRepositoryAssociation", **asked(name, "/run", "a/")).code == "BadRequest"


def test_a_bucket_that_cannot_be_reached_leaves_it_misconfigured(world: World) -> None:
    name = world.file_system()
    link = {"FileSystemId": name, "FileSystemPath": "/run", "DataRepositoryPath": "s3://missing/a/"}
    world.call("CreateDataRepositoryAssociation", **link)
    world.clock.advance(HOUR)
    (found,) = world.call("DescribeDataRepositoryAssociations")["Associations"]
    assert found["Lifecycle"] == "MISCONFIGURED"
    assert "missing" in found["FailureDetails"]["Message"]


def test_a_link_that_the_bucket_refuses_is_misconfigured(world: World) -> None:
    world.faults.add(LinkFails())
    link = {"FileSystemId": world.file_system(), "FileSystemPath": "/run", "DataRepositoryPath": "s3://b/a/"}
    world.call("CreateDataRepositoryAssociation", **link)
    world.clock.advance(HOUR)
    (found,) = world.call("DescribeDataRepositoryAssociations")["Associations"]
    assert found["Lifecycle"] == "MISCONFIGURED"


def test_objects_are_imported_with_their_modes_and_times(world: World) -> None:
    metadata = {"file-permissions": "0100750", "file-mtime": "1700000000000000000ns"}
    world.s3.objects["b"] = {
        "jobs/a/run.json": (b"{}", metadata),
        "jobs/a/sub/": (b"", {}),
        "jobs/a/../escape": (b"x", {}),
        "jobs/ab/other": (b"x", {}),
    }
    name = world.file_system()
    world.link(name, BatchImportMetaDataOnCreate=True)
    run = world.mount(name) / "run"

    assert (run / "run.json").read_bytes() == b"{}"
    assert (run / "run.json").stat().st_mode & 0o777 == 0o750
    assert (run / "run.json").stat().st_mtime_ns == 1_700_000_000_000_000_000
    assert (run / "sub").is_dir()
    assert [path.name for path in world.mount(name).rglob("*") if path.is_file()] == ["run.json"]


def test_without_batch_import_nothing_is_imported(world: World) -> None:
    world.s3.objects["b"] = {"jobs/a/run.json": (b"{}", {})}
    name = world.file_system()
    world.link(name)
    assert list((world.mount(name) / "run").iterdir()) == []


def test_associations_are_found_by_file_system(world: World) -> None:
    one, other = world.file_system(), world.file_system()
    mine = world.link(one)
    world.link(other)
    filters = [{"Name": "file-system-id", "Values": [one]}]
    found = world.call("DescribeDataRepositoryAssociations", Filters=filters)["Associations"]
    assert [link["AssociationId"] for link in found] == [mine]


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ([{"Name": "data-repository-type", "Values": ["S3"]}], 1),
        ([{"Name": "data-repository-type", "Values": ["NFS"]}], 0),
        ([{"Name": "file-cache-id", "Values": ["fc-0123456789abcdef0"]}], 0),
    ],
)
def test_associations_are_found_by_the_type_of_repository(
    world: World, filters: list[dict[str, object]], found: int
) -> None:
    world.link(world.file_system())
    assert len(world.call("DescribeDataRepositoryAssociations", Filters=filters)["Associations"]) == found


@pytest.mark.parametrize(
    "one", [{"Name": "backup-type", "Values": ["AUTOMATIC"]}, {"Values": ["x"]}, {"Name": "file-system-id"}]
)
@pytest.mark.parametrize("operation", ["DescribeDataRepositoryAssociations", "DescribeDataRepositoryTasks"])
def test_a_filter_that_the_operation_does_not_have_is_a_mistake(
    world: World, operation: str, one: dict[str, object]
) -> None:
    assert world.refused(operation, Filters=[one]).code == "BadRequest"
