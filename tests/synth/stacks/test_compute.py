"""The GPUs: nothing while no job runs, one job for each instance, and nothing for containers to steal."""

import os
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tools.definitions.templates import Assembly


@pytest.fixture
def templates(assembly: Assembly) -> list[dict[str, Any]]:
    found = [template.properties["LaunchTemplateData"] for template in assembly.of_type("AWS::EC2::LaunchTemplate")]
    assert len(found) == 2
    return found


@pytest.fixture
def container(assembly: Assembly) -> dict[str, Any]:
    [definition] = assembly.of_type("AWS::ECS::TaskDefinition")
    [container] = definition.properties["ContainerDefinitions"]
    return dict(container)


def test_containers_cannot_reach_the_instances_credentials(assembly: Assembly, templates: list[dict[str, Any]]) -> None:
    for template in templates:
        assert template["MetadataOptions"] == {"HttpTokens": "required", "HttpPutResponseHopLimit": 1}
    # One hop keeps a container out only where it has a network of its own.
    assert assembly.at("Compute/Trainer", "AWS::ECS::TaskDefinition").properties["NetworkMode"] == "bridge"


def test_volumes_are_encrypted(templates: list[dict[str, Any]]) -> None:
    for template in templates:
        assert [mapping["Ebs"]["Encrypted"] for mapping in template["BlockDeviceMappings"]] == [True]


def test_an_instance_takes_no_task_before_its_kernel_knows_lustre(templates: list[dict[str, Any]]) -> None:
    for template in templates:
        lines = template["UserData"].splitlines()
        [installing] = [number for number, line in enumerate(lines) if "dnf install -y lustre-client" in line]
        assert lines.index("set -eu") < installing < lines.index("modprobe lustre")
        joining = [number for number, line in enumerate(lines) if line.startswith("echo ECS_CLUSTER=")]
        assert joining
        assert min(joining) > lines.index("modprobe lustre")


def test_an_instance_that_is_busy_installing_for_itself_is_asked_again(
    templates: list[dict[str, Any]], tmp_path: Path
) -> None:
    for template in templates:
        booted = boot(template["UserData"], tmp_path, dnf="test $(wc -l < $CALLS) -gt 3")
        assert booted.calls.count("dnf install -y lustre-client") == 3
        assert "shutdown -h now" not in booted.calls
        assert "ECS_CLUSTER=" in booted.ecs_config


def test_an_instance_that_cannot_train_joins_nothing_and_turns_itself_off(
    templates: list[dict[str, Any]], tmp_path: Path
) -> None:
    """It is protected from scale-in until ECS knows it: left alone, it would be paid for and never be used."""
    for template in templates:
        booted = boot(template["UserData"], tmp_path, dnf="false", modprobe="false")
        assert booted.calls[-2:] == ["modprobe lustre", "shutdown -h now"]
        assert "ECS_CLUSTER=" not in booted.ecs_config


class Booted(NamedTuple):
    calls: list[str]
    ecs_config: str


def boot(user_data: str, folder: Path, **programs: str) -> Booted:
    """Run it with these in the place of the programs that would change this machine; each notes how it was called."""
    calls, config = folder / "calls", folder / "ecs.config"
    calls.write_text("")
    config.write_text("")
    for name in ("dnf", "modprobe", "sleep", "shutdown"):
        program = folder / name
        program.write_text(f'#!/bin/bash\necho "{name} $*" >> $CALLS\n{programs.get(name, "true")}\n')
        program.chmod(0o755)
    script = user_data.replace("/etc/ecs/ecs.config", str(config))
    path = f"{folder}:{os.environ['PATH']}"
    subprocess.run(["bash", "-c", script], env={"PATH": path, "CALLS": str(calls)}, check=False, capture_output=True)
    return Booted(calls.read_text().splitlines(), config.read_text())


def test_an_idle_cluster_has_no_instances(assembly: Assembly) -> None:
    for group in assembly.of_type("AWS::AutoScaling::AutoScalingGroup"):
        assert group.properties["MinSize"] == "0"
        assert "DesiredCapacity" not in group.properties


def test_an_instance_that_trains_is_not_taken_away(assembly: Assembly) -> None:
    for group in assembly.of_type("AWS::AutoScaling::AutoScalingGroup"):
        assert group.properties["NewInstancesProtectedFromScaleIn"] is True
    for provider in assembly.of_type("AWS::ECS::CapacityProvider"):
        assert provider.properties["AutoScalingGroupProvider"]["ManagedTerminationProtection"] == "ENABLED"
        assert provider.properties["AutoScalingGroupProvider"]["ManagedScaling"]["Status"] == "ENABLED"


def test_one_market_is_spot_and_the_other_is_not(templates: list[dict[str, Any]]) -> None:
    markets = [template.get("InstanceMarketOptions", {}).get("MarketType", "on demand") for template in templates]
    assert sorted(markets) == ["on demand", "spot"]


def test_the_container_may_mount_and_is_otherwise_ordinary(container: dict[str, Any]) -> None:
    assert container["LinuxParameters"]["Capabilities"] == {"Add": ["SYS_ADMIN"]}
    assert not container.get("Privileged")
    assert not container.get("Secrets")


def test_the_instance_gives_a_trainer_the_time_that_its_task_was_promised(
    container: dict[str, Any], templates: list[dict[str, Any]]
) -> None:
    for template in templates:
        assert f"ECS_CONTAINER_STOP_TIMEOUT={container['StopTimeout']}s" in template["UserData"]
    # A Spot warning leaves two minutes in all.
    assert 60 <= container["StopTimeout"] < 120


def test_training_does_not_wait_for_its_log(container: dict[str, Any]) -> None:
    options = container["LogConfiguration"]["Options"]
    assert (container["LogConfiguration"]["LogDriver"], options["mode"]) == ("awslogs", "non-blocking")
    assert options["max-buffer-size"] == f"{25 * 1024 * 1024}b"
    assert options["awslogs-stream-prefix"] == "run"


def test_the_trainer_is_found_by_the_names_that_the_flow_and_the_functions_use(
    assembly: Assembly, container: dict[str, Any]
) -> None:
    [definition] = assembly.of_type("AWS::ECS::TaskDefinition")
    assert (definition.properties["Family"], container["Name"]) == ("belay-trainer", "trainer")


def test_the_revision_that_a_run_began_with_outlives_an_update_of_the_stack(assembly: Assembly) -> None:
    """Its retries run that one, and what was deregistered cannot be run."""
    [definition] = assembly.of_type("AWS::ECS::TaskDefinition")
    assert definition.raw["UpdateReplacePolicy"] == "Retain"
