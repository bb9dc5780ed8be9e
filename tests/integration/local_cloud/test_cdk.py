"""The real CDK CLI: deploy, compare, update, destroy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools.local_cloud.cloud import CloudFailed, LocalCloud

from .conftest import TIME_SCALE, synthesize


@pytest.fixture
def empty(tmp_path: Path) -> LocalCloud:
    return LocalCloud(state_dir=tmp_path / "cloud", time_scale=TIME_SCALE)


def stacks(cloud: LocalCloud) -> set[str]:
    found = cloud.client("cloudformation").describe_stacks()["Stacks"]
    return {one["StackName"] for one in found if one["StackStatus"] != "DELETE_COMPLETE"}


def test_stacks_are_deployed_compared_updated_and_destroyed(empty: LocalCloud, assembly: Path, tmp_path: Path) -> None:
    changed = synthesize(tmp_path / "changed", deployment="renamed")
    with empty as cloud:
        cloud.bootstrap()
        cloud.deploy(assembly)
        assert stacks(cloud) == {"CDKToolkit", "Data", "Training"}
        assert "There were no differences" in cloud.diff(assembly)

        cloud.deploy(changed)
        name = outputs(cloud)["Probe"]
        answer = cloud.client("lambda").invoke(FunctionName=name, Payload=b"{}")
        assert json.loads(answer["Payload"].read())["deployment"] == "renamed"

        cloud.destroy(changed)
        assert stacks(cloud) == {"CDKToolkit"}
        assert cloud.client("stepfunctions").list_state_machines()["stateMachines"] == []
        assert [one["name"] for one in cloud.client("ecs").describe_capacity_providers()["capacityProviders"]] == [
            "FARGATE",
            "FARGATE_SPOT",
        ]


def outputs(cloud: LocalCloud) -> dict[str, str]:
    (stack,) = cloud.client("cloudformation").describe_stacks(StackName="Training")["Stacks"]
    return {one["OutputKey"]: one["OutputValue"] for one in stack["Outputs"]}


def test_an_unknown_resource_type_is_refused_by_name(cloud: LocalCloud) -> None:
    template = json.dumps({"Resources": {"X": {"Type": "AWS::Quantum::Computer", "Properties": {}}}})
    formation = cloud.client("cloudformation")
    with pytest.raises(formation.exceptions.ClientError, match="AWS::Quantum::Computer"):
        formation.create_stack(StackName="Unknown", TemplateBody=template)


def test_the_error_of_a_failed_command_has_its_output(cloud: LocalCloud, tmp_path: Path) -> None:
    (tmp_path / "cdk.json").write_text('{"app": "false"}')
    with pytest.raises(CloudFailed, match="cdk deploy failed"):
        cloud.deploy(tmp_path)
