"""What the model of FSx forbids is refused before an operation runs, in FSx's words."""

from __future__ import annotations

from typing import Any

import pytest

from tools.local_cloud.services.validation import check_request

from .conftest import SCRATCH, World

FILE_SYSTEM = "fs-0123456789abcdef0"
LINK = {"FileSystemId": FILE_SYSTEM, "FileSystemPath": "/run", "DataRepositoryPath": "s3://b/a/"}
TASK = {"FileSystemId": FILE_SYSTEM, "Type": "EXPORT_TO_REPOSITORY", "Report": {"Enabled": False}}
ARN = f"arn:aws:fsx:us-east-1:123456789012:file-system/{FILE_SYSTEM}"
LUSTRE = {"DeploymentType": "SCRATCH_2"}


def tags(number: int) -> list[dict[str, str]]:
    return [{"Key": f"key-{one}", "Value": "x"} for one in range(number)]


@pytest.mark.parametrize(
    ("operation", "request_", "member"),
    [
        ("CreateFileSystem", {}, "fileSystemType"),
        ("CreateFileSystem", {"FileSystemType": "LUSTRE"}, "subnetIds"),
        ("CreateFileSystem", {**SCRATCH, "SubnetIds": ["subnet-1"]}, "subnetIds.1.member"),
        ("CreateFileSystem", {**SCRATCH, "SubnetIds": ["10.0.0.0/20"]}, "subnetIds.1.member"),
        ("CreateFileSystem", {**SCRATCH, "SecurityGroupIds": ["default"]}, "securityGroupIds.1.member"),
        ("CreateFileSystem", {**SCRATCH, "StorageType": "NVME"}, "storageType"),
        ("CreateFileSystem", {**SCRATCH, "FileSystemTypeVersion": "newest"}, "fileSystemTypeVersion"),
        ("CreateFileSystem", {**SCRATCH, "ClientRequestToken": "t" * 64}, "clientRequestToken"),
        ("CreateFileSystem", {**SCRATCH, "ClientRequestToken": "a token"}, "clientRequestToken"),
        (
            "CreateFileSystem",
            {**SCRATCH, "LustreConfiguration": {"DeploymentType": "SCRATCH_3"}},
            "lustreConfiguration.deploymentType",
        ),
        (
            "CreateFileSystem",
            {**SCRATCH, "LustreConfiguration": {**LUSTRE, "DataCompressionType": "ZSTD"}},
            "lustreConfiguration.dataCompressionType",
        ),
        (
            "CreateFileSystem",
            {**SCRATCH, "LustreConfiguration": {**LUSTRE, "WeeklyMaintenanceStartTime": "8:00:00"}},
            "lustreConfiguration.weeklyMaintenanceStartTime",
        ),
        ("CreateFileSystem", {**SCRATCH, "Tags": tags(51)}, "tags"),
        ("CreateFileSystem", {**SCRATCH, "Tags": []}, "tags"),
        ("CreateFileSystem", {**SCRATCH, "Tags": [{"Key": "a"}]}, "tags.1.member.value"),
        ("CreateFileSystem", {**SCRATCH, "Tags": [{"Key": "k" * 129, "Value": ""}]}, "tags.1.member.key"),
        ("CreateFileSystem", {**SCRATCH, "Tags": [{"Key": "k", "Value": "v" * 257}]}, "tags.1.member.value"),
        ("CreateFileSystem", {**SCRATCH, "Tags": [{"Key": "why", "Value": "a, b"}]}, "tags.1.member.value"),
        ("DescribeFileSystems", {"MaxResults": 0}, "maxResults"),
        ("DescribeFileSystems", {"FileSystemIds": ["scratch"]}, "fileSystemIds.1.member"),
        ("DescribeFileSystems", {"NextToken": "2"}, "nextToken"),
        ("DeleteFileSystem", {}, "fileSystemId"),
        ("DeleteFileSystem", {"FileSystemId": "fs-1"}, "fileSystemId"),
        ("CreateDataRepositoryAssociation", {"FileSystemId": FILE_SYSTEM}, "dataRepositoryPath"),
        ("CreateDataRepositoryAssociation", {**LINK, "ImportedFileChunkSize": 0}, "importedFileChunkSize"),
        ("DescribeDataRepositoryAssociations", {"MaxResults": 26}, "maxResults"),
        ("DescribeDataRepositoryAssociations", {"Filters": [{"Name": "color"}]}, "filters.1.member.name"),
        ("DeleteDataRepositoryAssociation", {"AssociationId": "dra-1"}, "associationId"),
        ("CreateDataRepositoryTask", {"FileSystemId": FILE_SYSTEM}, "type"),
        ("CreateDataRepositoryTask", {**TASK, "Type": "EXPORT"}, "type"),
        ("CreateDataRepositoryTask", {**TASK, "Report": {}}, "report.enabled"),
        ("CreateDataRepositoryTask", {**TASK, "Paths": ["a"] * 101}, "paths"),
        ("DescribeDataRepositoryTasks", {"TaskIds": ["task-1"]}, "taskIds.1.member"),
        ("CancelDataRepositoryTask", {}, "taskId"),
        ("TagResource", {"ResourceARN": ARN}, "tags"),
        ("TagResource", {"ResourceARN": "arn:aws:s3:::b", "Tags": tags(1)}, "resourceARN"),
        ("UntagResource", {"ResourceARN": ARN}, "tagKeys"),
        ("ListTagsForResource", {}, "resourceARN"),
    ],
)
def test_a_request_that_the_model_forbids_is_refused(
    world: World, operation: str, request_: dict[str, Any], member: str
) -> None:
    refused = world.refused(operation, **request_)
    assert (refused.code, f"at '{member}' failed to satisfy constraint" in refused.message) == ("BadRequest", True)


def test_all_violations_are_in_one_message_in_the_words_of_fsx(world: World) -> None:
    assert world.refused("CreateFileSystem").message == (
        "2 validation errors detected: Value null at 'fileSystemType' failed to satisfy constraint: Member must not be "
        "null; Value null at 'subnetIds' failed to satisfy constraint: Member must not be null"
    )


@pytest.mark.parametrize("capacity", ["1200", True, 1200.5])
def test_a_value_of_another_type_is_not_read_at_all(world: World, capacity: object) -> None:
    assert (
        world.refused("CreateFileSystem", **{**SCRATCH, "StorageCapacity": capacity}).code == "SerializationException"
    )


def test_what_the_model_allows_passes() -> None:
    asked = {**SCRATCH, "Tags": [*tags(49), {"Key": "été:a/b=c+d-e@f", "Value": ""}], "ClientRequestToken": "t" * 63}
    check_request("fsx", "CreateFileSystem", asked, error="BadRequest")
