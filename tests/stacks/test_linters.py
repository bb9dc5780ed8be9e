"""Templates and state machines before the linters of others, each of which must see a planted defect."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.asl import Json
from tests.support.linters import asl_validator, cfn_lint
from tests.support.templates import Assembly


def test_cfn_lint_finds_nothing(assembly: Assembly, tmp_path: Path) -> None:
    templates = {stack: assembly.with_readable_machines(stack) for stack in assembly.stacks}
    assert cfn_lint(templates, tmp_path) == []


def test_cfn_lint_sees_planted_defects(assembly: Assembly, tmp_path: Path) -> None:
    template = assembly.with_readable_machines("BelayTraining")
    of_type = {raw["Type"]: raw["Properties"] for raw in template["Resources"].values()}
    of_type["AWS::Logs::LogGroup"]["RetentionInDays"] = 31
    of_type["AWS::ECS::TaskDefinition"]["NetworkMode"] = "bridged"
    of_type["AWS::SQS::Queue"]["MessageRetention"] = 5
    machine = of_type["AWS::StepFunctions::StateMachine"]
    machine["DefinitionString"] = machine["DefinitionString"].replace('"StartAt":"', '"StartAt":"No ', 1)
    found = cfn_lint({"planted": template}, tmp_path)
    for place in ("RetentionInDays", "NetworkMode", "MessageRetention", "StartAt"):
        assert any(place in finding for finding in found), found


def test_the_asl_validator_finds_nothing(assembly: Assembly, tmp_path: Path) -> None:
    assert asl_validator({name: assembly.machine(name) for name in ("Train", "Teardown")}, tmp_path) == ""


@pytest.mark.parametrize(
    ("plant", "told"),
    [
        (lambda s: s["Verify"].update(Next="Verified"), "target: Verified"),
        (
            lambda s: s["Export: wait"].update(Second=s["Export: wait"].pop("Seconds")),
            "/States/Export: wait is invalid",
        ),
        (lambda s: s["Verify"].update(Resource="arn:aws:states::lambda:invoke"), "/States/Verify/Resource is invalid"),
    ],
)
def test_the_asl_validator_sees_a_planted_defect(
    assembly: Assembly, tmp_path: Path, plant: Callable[[dict[str, Json]], object], told: str
) -> None:
    teardown = assembly.machine("Teardown")
    plant(teardown["States"])
    assert told in asl_validator({"Teardown": teardown}, tmp_path)
