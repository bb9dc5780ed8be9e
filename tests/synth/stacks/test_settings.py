"""What a deployment can be told; what it cannot be told is refused by the name of the setting."""

import itertools
import json
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from moto.utilities.utils import load_resource

from belay.policy.ecs_words import RUN_TASK_THROTTLED
from stacks.instance_types import fault_of
from stacks.settings import Settings, SettingsFault
from tests.support.deployments import EXISTING_NETWORK, PRIVATE_DEPLOYMENT
from tools.definitions.asl import states
from tools.definitions.grants import grants
from tools.definitions.synth import NotSynthesized, synth
from tools.definitions.templates import Assembly
from tools.repository import REPOSITORY

NAMES = (
    "FunctionName",
    "StateMachineName",
    "LogGroupName",
    "Family",
    "BucketName",
    "TopicName",
    "QueueName",
    "RoleName",
    "Name",
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
        ("instance_type", "g6"),
        ("instance_type", "ml.g6.xlarge"),
        ("instance_type", "G6.xlarge"),
        ("instance_type", "p3.2xlarge"),
        ("instance_type", "p3dn.24xlarge"),
        ("instance_type", "g3.4xlarge"),
        ("instance_type", "g4ad.xlarge"),
        ("instance_type", "g5g.xlarge"),
        ("instance_type", "p6e-gb200.36xlarge"),
        ("network", "open"),
        ("network", {**EXISTING_NETWORK, "vpc_id": "vpc"}),
        ("network", {**EXISTING_NETWORK, "subnet": "subnet-1"}),
        ("network", {"vpc_id": EXISTING_NETWORK["vpc_id"]}),
        ("max_instances", 0),
        ("max_instances", "many"),
        ("root_volume_gib", 50),
        ("log_retention_days", 31),
        ("reread_gib_a_day", -1),
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


def test_of_every_type_of_ec2_it_is_known_whether_it_is_arm64() -> None:
    """And every name of a type is one. moto has what EC2 itself says."""
    types = load_resource("ec2/resources/instance_types.json")
    assert len(types) > 1000
    for name, described in types.items():
        fault, is_x86 = fault_of(name) or "", "x86_64" in described["ProcessorInfo"]["SupportedArchitectures"]
        assert ("is arm64" in fault) is not is_x86, name
        assert "is not an instance type" not in fault


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
        ("instance_type", "m7i.large", "m7i.large"),
        ("max_instances", "8", 8),
        ("root_volume_gib", "500", 500),
        ("dataset_buckets", "one,two", ["one", "two"]),
        ("log_retention_days", "90", 90),
        ("reread_gib_a_day", "0", 0),
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


def test_buckets_of_datasets_may_be_listed_and_nothing_more(existing: Assembly) -> None:
    held = {
        (g.holder.rsplit("/", 1)[1], g.action)
        for g in grants(existing)
        if g.resource.startswith("arn:aws:s3:::corpora")
    }
    # Train's own are what FSx asks of who links a bucket; no state of it calls S3.
    linking = {("Role", action) for action in ("s3:Get*", "s3:List*", "s3:PutObject")}
    assert held == {("accept-role", "s3:ListBucket")} | linking


@pytest.mark.parametrize(("name", "with_token"), [("assembly", True), ("existing", False)])
def test_a_start_whose_reply_was_lost_is_repeated_only_with_a_token(
    name: str, with_token: bool, request: pytest.FixtureRequest
) -> None:
    """Without one, a second call would start a second task on the same file system."""
    run = states(request.getfixturevalue(name).machine("Train"))["Run training"]
    assert ("ClientToken" in run["Arguments"]) is with_token
    assert ("ECS.SdkClientException" in run["Retry"][0]["ErrorEquals"]) is with_token
    assert RUN_TASK_THROTTLED in run["Retry"][0]["ErrorEquals"]


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
