"""The deployed policies decide: Lambdas and state machines may do what their roles allow and nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tools.local_cloud.platform.authorization import Check
from tools.local_cloud.platform.ecs_authorization import ecs_checks
from tools.local_cloud.platform.fsx_authorization import fsx_checks
from tools.local_cloud.platform.service_linked_roles import ServiceLinkedRoles

from .conftest import Deployed


def test_a_lambda_may_not_delete_a_file_system_that_it_may_only_look_at(deployed: Deployed) -> None:
    subnet = deployed.outputs["Subnet"]
    lustre = {"DeploymentType": "SCRATCH_2"}
    asked = {"FileSystemType": "LUSTRE", "StorageCapacity": 1200, "SubnetIds": [subnet], "LustreConfiguration": lustre}
    made = deployed.cloud.client("fsx").create_file_system(**asked)["FileSystem"]["FileSystemId"]

    lambdas = deployed.cloud.client("lambda")
    payload = json.dumps({"delete": made}).encode()
    answer = lambdas.invoke(FunctionName=deployed.outputs["Probe"], Payload=payload)

    error = json.loads(answer["Payload"].read())
    assert error["errorType"] == "ClientError"
    assert "AccessDeniedException" in error["errorMessage"]
    assert "fsx:DeleteFileSystem" in error["errorMessage"]
    assert deployed.cloud.client("fsx").describe_file_systems(FileSystemIds=[made])["FileSystems"]


def test_a_state_machine_may_delete_its_own_file_systems_and_no_other(deployed: Deployed) -> None:
    """The flow's role demands aws:ResourceTag/belay:deployment = fixture."""
    ask = {"Type": "Task", "Resource": "arn:aws:states:::aws-sdk:fsx:deleteFileSystem", "End": True}
    ask["Arguments"] = {"FileSystemId": "{% $states.input.id %}"}
    states, fsx = deployed.cloud.client("stepfunctions"), deployed.cloud.client("fsx")
    role = states.describe_state_machine(stateMachineArn=deployed.outputs["Flow"])["roleArn"]
    definition = json.dumps({"QueryLanguage": "JSONata", "StartAt": "Ask", "States": {"Ask": ask}})
    machine = states.create_state_machine(name="deleter", definition=definition, roleArn=role)["stateMachineArn"]

    def try_on(tag: str) -> dict[str, Any]:
        lustre = {"DeploymentType": "SCRATCH_2"}
        made = fsx.create_file_system(
            FileSystemType="LUSTRE",
            StorageCapacity=1200,
            SubnetIds=[deployed.outputs["Subnet"]],
            LustreConfiguration=lustre,
            Tags=[{"Key": "belay:deployment", "Value": tag}],
        )["FileSystem"]["FileSystemId"]
        started = states.start_execution(stateMachineArn=machine, input=json.dumps({"id": made}))
        return deployed.end_of(started["executionArn"])

    assert try_on("fixture")["status"] == "SUCCEEDED"
    refused = try_on("foreign")
    assert refused["error"] == "FSx.FSxException"
    assert "not authorized to perform: fsx:DeleteFileSystem" in refused["cause"]


class OneDefinition:
    """A registry with one task definition, for what RunTask asks."""

    def cluster(self, reference: str) -> dict[str, Any]:
        return {"clusterName": reference}

    def task_definition(self, reference: str) -> dict[str, Any]:
        return {
            "taskDefinitionArn": f"arn:of:{reference}:3",
            "taskRoleArn": "arn:role/task",
            "executionRoleArn": "arn:x",
        }


def test_running_a_task_is_about_its_definition_its_cluster_and_its_roles() -> None:
    asked = {"cluster": "arn:aws:ecs:us-east-1:123456789012:cluster/c", "taskDefinition": "trainer"}
    checks = ecs_checks(OneDefinition())("RunTask", asked)
    assert [(one.action, one.resource) for one in checks] == [
        ("ecs:RunTask", "arn:of:trainer:3"),
        ("iam:PassRole", "arn:role/task"),
        ("iam:PassRole", "arn:x"),
    ]
    assert checks[0].context == {"ecs:cluster": asked["cluster"]}
    assert checks[1].context == {"iam:PassedToService": "ecs-tasks.amazonaws.com"}


class OldAccount:
    """It has FSx's own role, and none yet for the S3 access of this file system."""

    def check(self, _service: str) -> list[Check]:
        return []

    check_s3_access = staticmethod(ServiceLinkedRoles.check_s3_access)


LINKED = (
    "arn:aws:iam::123456789012:role/aws-service-role/s3.data-source.lustre.fsx.amazonaws.com"
    "/AWSServiceRoleForFSxS3Access_fs-0123456789abcdef0"  # pragma: allowlist secret
)


@pytest.mark.parametrize(
    ("action", "request_", "wanted"),
    [
        ("DescribeFileSystems", {"FileSystemIds": ["fs-1"]}, [("fsx:DescribeFileSystems", "*")]),
        ("DeleteFileSystem", {"FileSystemId": "fs-1"}, [("fsx:DeleteFileSystem", "file-system/fs-1")]),
        (
            "CreateDataRepositoryTask",
            {"FileSystemId": "fs-1"},
            [("fsx:CreateDataRepositoryTask", "task/*"), ("fsx:CreateDataRepositoryTask", "file-system/fs-1")],
        ),
        (
            "CreateDataRepositoryAssociation",
            {"FileSystemId": "fs-1", "DataRepositoryPath": "s3://b/jobs/"},
            [
                ("fsx:CreateDataRepositoryAssociation", "association/fs-1/*"),
                ("fsx:CreateDataRepositoryAssociation", "file-system/fs-1"),
                ("s3:ListBucket", "arn:aws:s3:::b"),
                ("s3:GetBucketAcl", "arn:aws:s3:::b"),
                ("s3:GetObject", "arn:aws:s3:::b/jobs/*"),
                ("s3:PutObject", "arn:aws:s3:::b/jobs/*"),
                ("iam:CreateServiceLinkedRole", LINKED),
                ("iam:AttachRolePolicy", LINKED),
                ("iam:PutRolePolicy", LINKED),
            ],
        ),
        (
            "DeleteDataRepositoryAssociation",
            {"AssociationId": "dra-1"},
            [("fsx:DeleteDataRepositoryAssociation", "association/fs-1/dra-1")],
        ),
        (
            "CreateFileSystem",
            {"Tags": [{"Key": "a", "Value": "b"}]},
            [("fsx:CreateFileSystem", "file-system/*"), ("fsx:TagResource", "file-system/*")],
        ),
    ],
)
def test_an_fsx_action_is_checked_on_every_resource_it_names(
    action: str, request_: dict[str, Any], wanted: list[tuple[str, str]]
) -> None:
    prefix = "arn:aws:fsx:us-east-1:123456789012:"
    found = fsx_checks(lambda id: f"{prefix}association/fs-1/{id}", OldAccount())(action, request_)
    assert [(one.action, one.resource.removeprefix(prefix)) for one in found] == wanted
    if "Tags" in request_:
        assert found[0].context == {"aws:RequestTag/a": "b", "aws:TagKeys": ["a"]}
