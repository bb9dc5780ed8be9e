"""What a deployment can be told; what it cannot be told is refused by the name of the setting."""

import itertools
import json
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import aws_cdk as cdk
import pytest

from client import deployment
from stacks.settings import Settings, SettingsFault
from tests.support.deployments import EXISTING_DEPLOYMENT, EXISTING_NETWORK, PRIVATE_DEPLOYMENT
from tests.support.grants import grants
from tests.support.synth import REPOSITORY, NotSynthesized, synth
from tests.support.templates import Assembly

NAMES = (
    "FunctionName",
    "StateMachineName",
    "LogGroupName",
    "Family",
    "BucketName",
    "TopicName",
    "QueueName",
    "RoleName",
)


def settings_of(**context: Any) -> Settings:
    return Settings.of(cdk.App(context=context).node)


def test_the_readme_has_every_setting_and_its_default() -> None:
    table = (REPOSITORY / "README.md").read_text().split("## Settings")[1].split("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| `")]
    told = {row[0].strip("`"): row[1].strip("`") for row in rows}
    assert told.keys() == Settings.model_fields.keys()
    for name, field in Settings.model_fields.items():
        # What has no value of its own is told in words.
        if isinstance(field.default, (str, int)):
            assert told[name] == str(field.default).lower(), name


def test_without_any_setting_the_deployment_is_public_and_called_belay() -> None:
    settings = settings_of()
    assert (settings.deployment, settings.network, settings.dataset_buckets) == ("belay", "public", [])


def test_what_cdk_json_says_are_settings_that_exist() -> None:
    context = json.loads((REPOSITORY / "cdk.json").read_text())["context"]
    # The price is that of the instance type beside it: with another type, the deployment knows none.
    without_prices = {name: value for name, value in context["belay"].items() if name != "prices"}
    assert settings_of(belay=without_prices) == settings_of()
    assert settings_of(belay=context["belay"]).prices.instance_hour


def test_prices_on_the_command_line_are_json() -> None:
    assert settings_of(**{"belay:prices": '{"instance_hour": 2.5}'}).prices.instance_hour == 2.5


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("deployment", "Belay"),
        ("deployment", "belay_2"),
        ("deployment", "a-name-that-is-too-long"),
        ("deployment", "belay\n"),
        ("deployment", ""),
        ("network", "open"),
        ("network", {**EXISTING_NETWORK, "vpc_id": "vpc"}),
        ("network", {**EXISTING_NETWORK, "subnet": "subnet-1"}),
        ("network", {"vpc_id": EXISTING_NETWORK["vpc_id"]}),
        ("max_instances", 0),
        ("max_instances", "many"),
        ("root_volume_gib", 50),
        ("log_retention_days", 31),
        ("customer_key", "perhaps"),
        ("audit", 5),
        ("prices", "cheap"),
        ("prices", {"instance_hour": -1}),
        ("dataset_buckets", "one,two"),
        ("gpu", 1),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(setting: str, value: Any) -> None:
    with pytest.raises(SettingsFault, match=rf"^belay\.{setting}\b"):
        settings_of(belay={setting: value})


def test_every_fault_is_told_at_once() -> None:
    with pytest.raises(SettingsFault) as refused:
        settings_of(belay={"max_instances": 0, "root_volume_gib": 1, "region": "eu-west-1"})
    assert {line.split(":")[0] for line in str(refused.value).splitlines()} == {
        "belay.max_instances",
        "belay.root_volume_gib",
        "belay.region",
    }


def test_the_zone_of_an_existing_network_is_said_once() -> None:
    with pytest.raises(SettingsFault, match="availability_zone"):
        settings_of(belay={"network": EXISTING_NETWORK, "availability_zone": "eu-west-1b"})


@pytest.mark.parametrize(
    ("setting", "said", "meant"),
    [
        ("deployment", "team-a", "team-a"),
        ("network", "private", "private"),
        ("availability_zone", "eu-west-1b", "eu-west-1b"),
        ("instance_type", "p5.48xlarge", "p5.48xlarge"),
        ("max_instances", "8", 8),
        ("root_volume_gib", "500", 500),
        ("dataset_buckets", "one,two", ["one", "two"]),
        ("log_retention_days", "90", 90),
        ("customer_key", "true", True),
        ("audit", "true", True),
        ("notice_email", "someone@example.com", "someone@example.com"),
    ],
)
def test_a_single_setting_can_be_said_on_the_command_line(setting: str, said: str, meant: Any) -> None:
    settings = settings_of(**{"belay": {"max_instances": 2}, f"belay:{setting}": said})
    assert getattr(settings, setting) == meant
    assert setting == "max_instances" or settings.max_instances == 2


def test_a_bad_setting_ends_the_synth_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(NotSynthesized, match=r"SettingsFault: belay\.instance_typ: "):
        synth(tmp_path, instance_typ="g6.xlarge")


def test_no_two_deployments_share_a_name(assembly: Assembly, private: Assembly, existing: Assembly) -> None:
    names = [_names(deployed) for deployed in (assembly, private, existing)]
    assert all(names)
    for one, other in itertools.combinations(names, 2):
        assert not one & other


@pytest.mark.parametrize("fixture", ["assembly", "private", "existing"])
def test_a_client_asks_the_stack_and_the_cluster_of_the_deployment(
    fixture: str, request: pytest.FixtureRequest
) -> None:
    """By its name alone: two that differ by a hyphen are two deployments."""
    deployed: Assembly = request.getfixturevalue(fixture)
    [cluster] = deployed.of_type("AWS::ECS::Cluster")
    stack = cluster.path.split("/")[0]
    name = {"private": PRIVATE_DEPLOYMENT, "existing": EXISTING_DEPLOYMENT}.get(fixture, "belay")
    outputs = [{"OutputKey": key, "OutputValue": key} for key in ("TrainMachineArn", "BucketName")]
    logging = {"logConfiguration": {"options": {"awslogs-group": "log"}}}
    aws = Mock()
    aws.describe_stacks.return_value = {"Stacks": [{"Outputs": outputs}]}
    aws.describe_task_definition.return_value = {"taskDefinition": {"containerDefinitions": [logging]}}
    # CloudFormation puts the stack's name before the cluster's.
    arns = [f"arn:aws:ecs:us-east-1:1:cluster/{one}-Cluster-1" for one in ("Other", stack, f"X{stack}")]
    aws.get_paginator.return_value.paginate.return_value = [{"clusterArns": arns}]

    found = deployment.find(lambda service: aws, name)
    aws.describe_stacks.assert_called_once_with(StackName=stack)
    assert deployment.cluster_of(lambda service: aws, found) == arns[1]


def test_buckets_of_datasets_may_be_listed_and_nothing_more(existing: Assembly) -> None:
    held = {
        (g.holder.rsplit("/", 1)[1], g.action)
        for g in grants(existing)
        if g.resource.startswith("arn:aws:s3:::corpora")
    }
    assert held == {("accept-role", "s3:ListBucket")}


def test_everything_made_is_tagged_with_the_deployment(private: Assembly) -> None:
    for resource in private.resources:
        for tag in resource.properties.get("Tags", []) if isinstance(resource.properties.get("Tags"), list) else []:
            if tag["Key"] == "belay:deployment":
                assert tag["Value"] == PRIVATE_DEPLOYMENT, resource.path
    machines = private.of_type("AWS::StepFunctions::StateMachine")
    assert all(
        {"Key": "belay:deployment", "Value": PRIVATE_DEPLOYMENT} in machine.properties["Tags"] for machine in machines
    )


def _names(assembly: Assembly) -> set[str]:
    """In small letters: no name should differ from another by those alone."""
    names = set(assembly.stacks)
    for resource in assembly.resources:
        names |= {str(resource.properties[key]) for key in NAMES if isinstance(resource.properties.get(key), str)}
    for template in assembly.templates.values():
        exports = [output["Export"]["Name"] for output in template.get("Outputs", {}).values() if "Export" in output]
        names |= {str(name) for name in exports}
    return {name.lower() for name in names}
