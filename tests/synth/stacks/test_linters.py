"""Templates and state machines before the linters of others, each of which must see a planted defect."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.linters import asl_validator, cfn_lint, parliament
from tools.definitions.asl import Json
from tools.definitions.templates import Assembly
from tools.proofs.permissions.simulator import policies_of

# What parliament says of statements that are as they should be: one action is about several kinds of things, of which
# each has a statement and a condition of its own, or none at all; what knows no resources is held to a cluster; and
# what FSx asks EC2 in a role's name is held to FSx, as AWS has it.
LEFT = (
    "RESOURCE_MISMATCH [{'action': 'fsx:CreateDataRepository",
    "RESOURCE_MISMATCH [{'action': 'states:DescribeExecution', 'required_format': 'arn:*:states:*:*:express:*:*:*'}]",
    "RESOURCE_MISMATCH [{'action': 'states:ListExecutions', 'required_format': 'arn:*:states:*:*:mapRun:*/*:*'}]",
    "RESOURCE_MISMATCH [{'action': 's3:GetAccessGrant'",
    "RESOURCE_MISMATCH [{'action': 'servicequotas:GetServiceQuota', 'required_format': '*'}]",
    "RESOURCE_STAR ['ec2:GetSecurityGroupsForVpc']",
    "RESOURCE_STAR ['ecs:ListTasks']",
    "RESOURCE_STAR ['ecs:Poll', 'ecs:StartTelemetrySession']",
    "RESOURCE_STAR ['logs:CreateLogStream', 'logs:PutLogEvents']",
)


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


def test_parliament_finds_nothing_but_what_is_left(assembly: Assembly) -> None:
    found = [finding.partition(": ")[2] for finding in parliament(policies_of(assembly).of_roles)]
    assert [finding for finding in found if not finding.startswith(LEFT)] == []
    assert [left for left in LEFT if not any(finding.startswith(left) for finding in found)] == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"Action": "fsx:DeleteFileSystems"}, "UNKNOWN_ACTION"),
        ({"Resource": "arn:aws:s3:::bucket"}, "RESOURCE_MISMATCH"),
        ({"Condition": {"StringEquals": {"fsx:Owner": "belay"}}}, "UNKNOWN_CONDITION_FOR_ACTION"),
        ({"Condition": {"StringEqual": {"aws:ResourceTag/belay:deployment": "belay"}}}, "UNKNOWN_OPERATOR"),
        ({"Resource": "*"}, "RESOURCE_STAR"),
    ],
    ids=["action", "resource", "key", "operator", "star"],
)
def test_parliament_sees_a_planted_defect(assembly: Assembly, change: Json, told: str) -> None:
    role = "BelayTraining/Teardown/Machine/Role"
    [document] = policies_of(assembly).of_roles[role]
    [deleting] = [one for one in document["Statement"] if one["Action"] == "fsx:DeleteFileSystem"]
    deleting.update(change)
    found = [one for one in parliament({role: [document]}) if not one.partition(": ")[2].startswith(LEFT)]
    assert [one for one in found if told in one], found
