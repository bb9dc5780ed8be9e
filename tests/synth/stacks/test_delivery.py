"""EventBridge's part: what starts by itself, how often, and by which right; and that a defect in it is noticed."""

import copy
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from belay.contract.certificate import AskedBy
from belay.contract.max_loss import PUMP_EVERY
from tools.definitions import delivery
from tools.definitions.templates import Assembly

Properties = dict[str, Any]
PROMISED = {"belay-pump": PUMP_EVERY, "belay-sweep": timedelta(minutes=5), "belay-reread": timedelta(days=1)}
RESCUE, PUMP, SWEEP = "Rescue/OnUnfinished", "Pump/EachMinute", "Sweep/EachFewMinutes"
RULE, ROLE, PERMISSION = "AWS::Events::Rule", "AWS::IAM::Role", "AWS::Lambda::Permission"


def missed_ends(assembly: Assembly) -> list[str]:
    return delivery.missed_ends(assembly, train="belay-train", teardown="belay-teardown", asked_by=AskedBy.RESCUE.value)


def rare_schedules(assembly: Assembly) -> list[str]:
    return delivery.rare_schedules(assembly, PROMISED)


CHECKS = [delivery.undelivered, rare_schedules, missed_ends, delivery.wrong_trust]


@pytest.mark.parametrize("check", CHECKS)
def test_every_rule_delivers_as_often_as_promised_and_by_the_right_role(
    check: Callable[[Assembly], list[str]], assembly: Assembly
) -> None:
    assert check(assembly) == []


@pytest.mark.parametrize("check", [delivery.undelivered, delivery.wrong_trust])
def test_the_same_holds_for_other_settings(
    check: Callable[[Assembly], list[str]], private: Assembly, existing: Assembly
) -> None:
    assert check(private) == check(existing) == []


def transformer(rule: Properties) -> Properties:
    found: Properties = rule["Targets"][0]["InputTransformer"]
    return found


def trust(role: Properties) -> Properties:
    found: Properties = role["AssumeRolePolicyDocument"]["Statement"][0]
    return found


@pytest.mark.parametrize(
    ("check", "path", "kind", "defect", "fault"),
    [
        # the rescue
        (delivery.undelivered, RESCUE, RULE, lambda rule: rule.update(State="DISABLED"), "OnUnfinished: is DISABLED"),
        (missed_ends, RESCUE, RULE, lambda rule: rule.update(State="DISABLED"), "belay-train FAILED"),
        (missed_ends, RESCUE, RULE, lambda rule: rule["EventPattern"]["detail"]["status"].pop(), "belay-train ABORTED"),
        (
            missed_ends,
            RESCUE,
            RULE,
            lambda rule: rule["EventPattern"].update(source=["aws.state"]),
            "belay-train FAILED",
        ),
        (
            missed_ends,
            RESCUE,
            RULE,
            lambda rule: rule["EventPattern"].update({"detail-type": ["Execution Status Change"]}),
            "belay-train TIMED_OUT",
        ),
        (
            missed_ends,
            RESCUE,
            RULE,
            lambda rule: rule["EventPattern"]["detail"].pop("stateMachineArn"),
            "belay-teardown FAILED: belay-teardown is started",
        ),
        (missed_ends, RESCUE, RULE, lambda rule: rule["EventPattern"]["detail"].pop("status"), "belay-train SUCCEEDED"),
        (
            missed_ends,
            RESCUE,
            RULE,
            lambda rule: rule["Targets"][0].update(Arn=rule["Targets"][0]["Arn"].replace("teardown", "train")),
            "belay-train FAILED: belay-teardown is started with []",
        ),
        (
            missed_ends,
            RESCUE,
            RULE,
            lambda rule: transformer(rule)["InputPathsMap"].update({"detail-executionArn": "$.detail.arn"}),
            "belay-train FAILED: belay-teardown is started with [{'execution_arn': None",
        ),
        (missed_ends, RESCUE, RULE, lambda rule: rule["Targets"][0].pop("InputTransformer"), "belay-train FAILED"),
        (delivery.undelivered, RESCUE, RULE, lambda rule: rule["Targets"][0].pop("RoleArn"), "start belay-teardown"),
        (
            delivery.undelivered,
            "Teardown/Machine/EventsRole/DefaultPolicy",
            None,
            lambda policy: policy["PolicyDocument"]["Statement"][0].update(Action="states:StartSyncExecution"),
            "OnUnfinished: may not start belay-teardown",
        ),
        (
            delivery.undelivered,
            "Rescue/Undelivered/Policy",
            None,
            lambda policy: policy["PolicyDocument"]["Statement"].pop(),
            "OnUnfinished: may not write to BelayTraining-Rescue-Undelivered",
        ),
        # schedules
        (rare_schedules, PUMP, RULE, lambda rule: rule.update(State="DISABLED"), "belay-pump: no schedule calls it"),
        (rare_schedules, SWEEP, RULE, lambda rule: rule.update(State="DISABLED"), "belay-sweep: no schedule calls it"),
        (
            rare_schedules,
            PUMP,
            RULE,
            lambda rule: rule.update(ScheduleExpression="rate(2 minutes)"),
            "belay-pump: is called every 120 s and not every 60 s",
        ),
        (
            rare_schedules,
            SWEEP,
            RULE,
            lambda rule: rule.update(ScheduleExpression="rate(1 hour)"),
            "belay-sweep: is called every 3600 s and not every 300 s",
        ),
        (
            rare_schedules,
            SWEEP,
            RULE,
            lambda rule: rule["Targets"][0].update(Arn=rule["Targets"][0]["Arn"].replace("sweep", "pump")),
            "belay-sweep: no schedule calls it",
        ),
        (
            delivery.undelivered,
            SWEEP,
            PERMISSION,
            lambda permission: permission.update(Principal="states.amazonaws.com"),
            "EachFewMinutes: may not start belay-sweep",
        ),
        (
            delivery.undelivered,
            PUMP,
            PERMISSION,
            lambda permission: permission.update(SourceArn="arn:aws:events:us-east-1:123456789012:rule/another"),
            "EachMinute: may not start belay-pump",
        ),
        # trust
        (
            delivery.wrong_trust,
            "Teardown/Machine/EventsRole",
            ROLE,
            lambda role: trust(role).update(Principal={"Service": "states.amazonaws.com"}),
            "EventsRole: trusts ['states.amazonaws.com'], and is used by ['events.amazonaws.com']",
        ),
        (
            delivery.wrong_trust,
            "Train/Machine/Role",
            ROLE,
            lambda role: trust(role).update(Principal={"Service": "lambda.amazonaws.com"}),
            "Role: trusts ['lambda.amazonaws.com'], and is used by ['states.amazonaws.com']",
        ),
        (
            delivery.wrong_trust,
            "Compute/Trainer/TaskRole",
            ROLE,
            lambda role: trust(role).update(Effect="Deny"),
            "TaskRole: trusts [], and is used by ['ecs-tasks.amazonaws.com']",
        ),
        (
            delivery.wrong_trust,
            "Functions/sweep-role",
            ROLE,
            lambda role: role["AssumeRolePolicyDocument"]["Statement"].append(
                {**trust(role), "Principal": {"Service": "ec2.amazonaws.com"}}
            ),
            "sweep-role: trusts ['ec2.amazonaws.com', 'lambda.amazonaws.com'], and is used by ['lambda.amazonaws.com']",
        ),
    ],
)
def test_a_planted_defect_is_noticed(
    assembly: Assembly,
    check: Callable[[Assembly], list[str]],
    path: str,
    kind: str | None,
    defect: Callable[[Properties], object],
    fault: str,
) -> None:
    broken = copy.copy(assembly)
    broken.resources = copy.deepcopy(assembly.resources)
    place = next(
        one for one in broken.resources if f"/{path}" in f"/{one.path}" and kind in (None, one.type) and one.properties
    )
    defect(place.properties)
    assert fault in " ".join(check(broken))
