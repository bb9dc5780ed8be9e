"""EventBridge and its targets: which rights a delivery needs, where an undelivered event goes, what a fault does."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from tools.local_cloud.faults import EventDelivery

from .conftest import Deployed
from .waiting import eventually

ACCOUNT = "arn:aws:iam::123456789012"
# Longer than any delivery that was not held back takes.
QUIET_SECONDS = 2.0


class Rule:
    """A rule of its own for each test, on events of its own; its target is the fixture's machine Echo."""

    def __init__(self, deployed: Deployed, name: str, *, trusts: str = "events.amazonaws.com", may_start: bool = True):
        self.name, self._deployed, cloud = name, deployed, deployed.cloud
        self._events, self._sqs = cloud.client("events"), cloud.client("sqs")
        rule = self._events.put_rule(Name=name, EventPattern=json.dumps({"source": [name]}))["RuleArn"]
        self.queue = self._sqs.create_queue(QueueName=f"{name}-undelivered")["QueueUrl"]
        queue = self._sqs.get_queue_attributes(QueueUrl=self.queue, AttributeNames=["QueueArn"])["Attributes"][
            "QueueArn"
        ]
        allow = {"Effect": "Allow", "Principal": {"Service": "events.amazonaws.com"}, "Action": "sqs:SendMessage"}
        self.policy = {**allow, "Resource": queue, "Condition": {"ArnEquals": {"aws:SourceArn": rule}}}
        self.let_into_the_queue(self.policy)
        target: dict[str, Any] = {
            "Id": "echo",
            "Arn": deployed.outputs["Echo"],
            "RoleArn": self._role(trusts, may_start=may_start),
        }
        template = {"InputPathsMap": {"n": "$.detail.n"}, "InputTemplate": json.dumps({"rule": name, "n": "<n>"})}
        target |= {"DeadLetterConfig": {"Arn": queue}, "InputTransformer": template}
        self._events.put_targets(Rule=name, Targets=[target])

    def _role(self, trusts: str, *, may_start: bool) -> str:
        iam = self._deployed.cloud.client("iam")
        trust = {"Effect": "Allow", "Principal": {"Service": trusts}, "Action": "sts:AssumeRole"}
        document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
        arn = iam.create_role(RoleName=self.name, AssumeRolePolicyDocument=document)["Role"]["Arn"]
        action = "states:StartExecution" if may_start else "states:DescribeExecution"
        allow = {"Effect": "Allow", "Action": action, "Resource": self._deployed.outputs["Echo"]}
        policy = json.dumps({"Version": "2012-10-17", "Statement": [allow]})
        iam.put_role_policy(RoleName=self.name, PolicyName="start", PolicyDocument=policy)
        return str(arn)

    def let_into_the_queue(self, statement: dict[str, Any]) -> None:
        policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        self._sqs.set_queue_attributes(QueueUrl=self.queue, Attributes={"Policy": policy})

    def send(self, number: str = "1") -> None:
        entry = {"Source": self.name, "DetailType": "test", "Detail": json.dumps({"n": number})}
        self._events.put_events(Entries=[entry])

    def started(self) -> list[str]:
        """The events that started Echo, oldest first."""
        states = self._deployed.cloud.client("stepfunctions")
        found = states.list_executions(stateMachineArn=self._deployed.outputs["Echo"])["executions"]
        by_age = sorted(found, key=lambda one: one["startDate"])
        inputs = [json.loads(states.describe_execution(executionArn=one["executionArn"])["input"]) for one in by_age]
        return [one["n"] for one in inputs if one.get("rule") == self.name]

    def undelivered(self) -> list[dict[str, Any]]:
        asked = {"QueueUrl": self.queue, "MessageAttributeNames": ["All"]}
        return list(self._sqs.receive_message(**asked).get("Messages", []))


def test_an_event_starts_its_target_by_the_role_of_the_target(deployed: Deployed) -> None:
    rule = Rule(deployed, "delivered")
    rule.send()
    assert eventually(rule.started) == ["1"]
    assert rule.undelivered() == []


@pytest.mark.parametrize(
    ("name", "role", "why"),
    [
        ("not-trusted", {"trusts": "states.amazonaws.com"}, "cannot assume the role"),
        ("not-allowed", {"may_start": False}, "states:StartExecution"),
    ],
)
def test_what_the_role_does_not_allow_goes_to_the_dead_letter_queue(
    deployed: Deployed, name: str, role: dict[str, Any], why: str
) -> None:
    rule = Rule(deployed, name, **role)
    rule.send()
    (message,) = eventually(rule.undelivered)
    assert json.loads(message["Body"])["detail"] == {"n": "1"}
    attributes = {key: value["StringValue"] for key, value in message["MessageAttributes"].items()}
    assert attributes["TARGET_ARN"] == deployed.outputs["Echo"]
    assert why in attributes["ERROR_MESSAGE"]
    assert rule.started() == []


def test_a_queue_that_does_not_let_the_rule_in_gets_nothing(deployed: Deployed) -> None:
    rule = Rule(deployed, "locked-out", trusts="states.amazonaws.com")
    rule.let_into_the_queue({**rule.policy, "Condition": {"ArnEquals": {"aws:SourceArn": "arn:another"}}})
    rule.send()
    time.sleep(QUIET_SECONDS)
    assert rule.undelivered() == []


def test_a_function_without_a_policy_for_the_rule_is_not_called(deployed: Deployed) -> None:
    events, lambdas = deployed.cloud.client("events"), deployed.cloud.client("lambda")
    rule = Rule(deployed, "no-permission")
    function = lambdas.get_function(FunctionName=deployed.outputs["Probe"])["Configuration"]["FunctionArn"]
    (echo,) = events.list_targets_by_rule(Rule=rule.name)["Targets"]
    call = {"Id": "probe", "Arn": function, "DeadLetterConfig": echo["DeadLetterConfig"]}
    events.put_targets(Rule=rule.name, Targets=[call])
    rule.send()
    (message,) = eventually(rule.undelivered)
    assert "no permission" in message["MessageAttributes"]["ERROR_MESSAGE"]["StringValue"]


def test_under_faults_an_event_comes_twice_or_never_or_after_the_next(deployed: Deployed) -> None:
    rule, cloud = Rule(deployed, "unreliable"), deployed.cloud
    cloud.inject(EventDelivery(how="twice", where={"rule": rule.name, "n": "1"}))
    rule.send("1")
    eventually(lambda: rule.started() == ["1", "1"])
    cloud.inject(EventDelivery(how="never", where={"rule": rule.name}))
    rule.send("2")
    # Three seconds of real time.
    cloud.inject(EventDelivery(how="late", seconds=1200, where={"source": rule.name, "n": "3"}))
    rule.send("3")
    rule.send("4")
    eventually(lambda: rule.started()[2:] == ["4", "3"])
    assert not [fault for fault in cloud.waiting_faults() if fault.where.get("rule") == rule.name]
