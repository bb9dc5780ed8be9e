"""Rules: what EventBridge starts, how often, and by which right. Each check gives the faults as sentences."""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from tools.definitions.grants import grants, grants_at_resources
from tools.definitions.resolve import ACCOUNT, REGION
from tools.definitions.templates import Assembly, Resource

EVENTBRIDGE = "events.amazonaws.com"
_UNITS = {"minute": 60, "hour": 3600, "day": 86400}
# Where a role is named, and the service that takes it on there.
_USED_BY = {
    ("AWS::Lambda::Function", "Role"): "lambda.amazonaws.com",
    ("AWS::StepFunctions::StateMachine", "RoleArn"): "states.amazonaws.com",
    ("AWS::ECS::TaskDefinition", "TaskRoleArn"): "ecs-tasks.amazonaws.com",
    ("AWS::ECS::TaskDefinition", "ExecutionRoleArn"): "ecs-tasks.amazonaws.com",
    ("AWS::IAM::InstanceProfile", "Roles"): "ec2.amazonaws.com",
    ("AWS::EC2::FlowLog", "DeliverLogsPermissionArn"): "vpc-flow-logs.amazonaws.com",
    ("AWS::Events::Rule", "Targets"): EVENTBRIDGE,
}


def undelivered(assembly: Assembly) -> list[str]:
    """Every rule is on, and EventBridge may start its targets, and may write to the queue of those that it cannot."""
    faults = []
    for rule in assembly.of_type("AWS::Events::Rule"):
        if rule.properties["State"] != "ENABLED":
            faults.append(f"{rule.path}: is {rule.properties['State']}")
        for target in rule.properties["Targets"]:
            if not _may_start(assembly, rule, target):
                faults.append(f"{rule.path}: may not start {_name(target['Arn'])}")
            queue = target.get("DeadLetterConfig", {}).get("Arn")
            if queue and not _allowed_at(assembly, "sqs:SendMessage", queue, rule):
                faults.append(f"{rule.path}: may not write to {_name(queue)}")
    return faults


def rare_schedules(assembly: Assembly, promised: Mapping[str, timedelta]) -> list[str]:
    """Each of these functions is called by a schedule that is on, at least as often as promised."""
    faults = []
    for function, most in promised.items():
        rates = [
            _seconds(rule.properties["ScheduleExpression"])
            for rule in assembly.of_type("AWS::Events::Rule")
            if "ScheduleExpression" in rule.properties and rule.properties["State"] == "ENABLED"
            if any(_name(target["Arn"]) == function for target in rule.properties["Targets"])
        ]
        if not rates:
            faults.append(f"{function}: no schedule calls it")
        elif min(rates) > most.total_seconds():
            faults.append(f"{function}: is called every {min(rates)} s and not every {most.total_seconds():.0f} s")
    return faults


def missed_ends(assembly: Assembly, *, train: str, teardown: str, asked_by: str) -> list[str]:
    """An execution of Train that failed, timed out or was stopped starts a teardown of itself. One that runs or
    succeeded, and one of Teardown, starts none: a teardown that fails must not start the next one."""
    faults = []
    for machine in (train, teardown):
        for status in ("RUNNING", "SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED"):
            event = _status_event(machine, status)
            wanted = {"execution_arn": event["detail"]["executionArn"], "asked_by": asked_by}
            started = list(_inputs_of(assembly, teardown, event))
            ends_badly = machine == train and status in ("FAILED", "TIMED_OUT", "ABORTED")
            if started != ([wanted] if ends_badly else []):
                faults.append(f"{machine} {status}: {teardown} is started with {started}")
    return faults


def wrong_trust(assembly: Assembly) -> list[str]:
    """A role is trusted by the service that takes it on, and by no other; and some service takes it on."""
    used: dict[str, set[str]] = {}
    for (kind, place), service in _USED_BY.items():
        for resource in assembly.of_type(kind):
            for name in _roles_in(resource.properties.get(place)):
                used.setdefault(name, set()).add(service)
    faults = []
    for role in assembly.of_type("AWS::IAM::Role"):
        trusted = {
            service
            for statement in role.properties["AssumeRolePolicyDocument"]["Statement"]
            if statement["Effect"] == "Allow" and statement["Action"] == "sts:AssumeRole"
            for service in _listed(statement["Principal"].get("Service", []))
        }
        users = used.get(_role_name(role), set())
        if not users or trusted != users:
            faults.append(f"{role.path}: trusts {sorted(trusted)}, and is used by {sorted(users)}")
    return faults


def _may_start(assembly: Assembly, rule: Resource, target: Mapping[str, Any]) -> bool:
    if ":function:" in target["Arn"]:
        return _allowed_at(assembly, "lambda:InvokeFunction", target["Arn"], rule)
    # The only other kind of target that we have is a state machine, which takes a role.
    roles = {role.path for role in assembly.of_type("AWS::IAM::Role") if _role_name(role) in _roles_in([target])}
    held = {(one.action, one.resource) for one in grants(assembly) if one.holder in roles and one.effect == "Allow"}
    return ("states:StartExecution", target["Arn"]) in held


def _allowed_at(assembly: Assembly, action: str, resource: str, rule: Resource) -> bool:
    arn = f"arn:aws:events:{REGION}:{ACCOUNT}:rule/{rule.path.replace('/', '-')}"
    return any(
        (one.effect, one.action, one.resource) == ("Allow", action, resource)
        and one.holder.endswith(f": {EVENTBRIDGE}")
        and one.condition.endswith(f"aws:SourceArn = {arn}")
        for one in grants_at_resources(assembly)
    )


def _inputs_of(assembly: Assembly, teardown: str, event: Mapping[str, Any]) -> Iterator[Any]:
    for rule in assembly.of_type("AWS::Events::Rule"):
        pattern = rule.properties.get("EventPattern")
        if pattern is not None and rule.properties["State"] == "ENABLED" and _matches(pattern, event):
            for target in rule.properties["Targets"]:
                if _name(target["Arn"]) == teardown:
                    yield _input(target, event)


def _matches(pattern: Any, event: Any) -> bool:
    """Lists of values alone: no rule of ours has another operator."""
    if isinstance(pattern, list):
        assert all(isinstance(value, str) for value in pattern), f"{pattern} is not read here"
        return event in pattern
    return all(key in event and _matches(inner, event[key]) for key, inner in pattern.items())


def _input(target: Mapping[str, Any], event: Mapping[str, Any]) -> Any:
    transformer = target.get("InputTransformer", {"InputPathsMap": {}, "InputTemplate": json.dumps(event)})

    def value(match: re.Match[str]) -> str:
        found: Any = event
        for part in transformer["InputPathsMap"].get(match[1], "$.").removeprefix("$.").split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
        return json.dumps(found)

    return json.loads(re.sub("<([^<>]+)>", value, transformer["InputTemplate"]))


def _status_event(machine: str, status: str) -> dict[str, Any]:
    arn = f"arn:aws:states:{REGION}:{ACCOUNT}"
    return {
        "source": "aws.states",
        "detail-type": "Step Functions Execution Status Change",
        "detail": {
            "executionArn": f"{arn}:execution:{machine}:one",
            "stateMachineArn": f"{arn}:stateMachine:{machine}",
            "status": status,
        },
    }


def _seconds(rate: str) -> int:
    read = re.fullmatch(r"rate\((\d+) (minute|hour|day)s?\)", rate)
    assert read, f"{rate} is not read here"
    return int(read[1]) * _UNITS[read[2]]


def _roles_in(value: Any) -> set[str]:
    """The names of roles in a property: an ARN, a list of names, or targets that have one."""
    named = [one.get("RoleArn") if isinstance(one, Mapping) else one for one in _listed(value)]
    return {_name(one) for one in named if one}


def _role_name(role: Resource) -> str:
    return str(role.properties.get("RoleName") or role.path.replace("/", "-"))


def _name(arn: str) -> str:
    return re.split("[:/]", arn)[-1]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
