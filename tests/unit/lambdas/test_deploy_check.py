"""A deployment is refused while runs are alive that cannot go on with it, and in no other case."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, nullcontext
from datetime import UTC, datetime
from typing import Any

import pytest

from belay.aws import clients
from lambdas.safety import deploy_check
from tools.proofs.fakes.fake import Fake, FakeStates, Refused
from tools.proofs.fakes.world import ARN, RUN, STARTED_AT, TEARDOWN, TRAIN, World

STACK = "arn:aws:cloudformation:us-east-1:123456789012:stack/BelayTraining/0123"
TEARDOWN_ARN = TEARDOWN.replace(":stateMachine:", ":execution:") + ":sweep-1"


class FakeParameters(Fake):
    """`denied`: so often it is refused, as to a role that is new."""

    def __init__(self) -> None:
        self.document: dict[str, Any] | None = {"messages_version": 1}
        self.denied = 0

    def get_parameter(self, asked: dict[str, Any]) -> dict[str, Any]:
        if self.denied:
            self.denied -= 1
            raise Refused("AccessDeniedException")
        if self.document is None:
            raise Refused("ParameterNotFound")
        return {"Parameter": {"Name": asked["Name"], "Value": json.dumps(self.document)}}


class FakeStacks(Fake):
    def __init__(self) -> None:
        self.status = "UPDATE_IN_PROGRESS"

    def describe_stacks(self, asked: dict[str, Any]) -> dict[str, Any]:
        assert asked["StackName"] == STACK
        made = {"StackName": "BelayTraining", "CreationTime": datetime(2026, 11, 21, tzinfo=UTC)}
        return {"Stacks": [{**made, "StackStatus": self.status}]}


class Formation:
    """CloudFormation, which asks and waits for the answer."""

    def __init__(self, states: FakeStates) -> None:
        self.parameters, self.stacks, self.states = FakeParameters(), FakeStacks(), states
        self.sent: list[Any] = []
        self.paused: list[float] = []

    def run(self, arn: str = ARN, **more: Any) -> None:
        self.states.add(arn, started_at=STARTED_AT, **more)

    def ask(self, kind: str = "Update", *, version: int = 2, over: bool = False) -> str | None:
        """The reason of a refusal."""
        properties = {
            "MessagesVersion": str(version),
            "DeployOverRuns": str(over).lower(),
            "Parameter": "/belay/belay",
            "TrainMachine": TRAIN,
            "TeardownMachine": TEARDOWN,
        }
        event = {
            "RequestType": kind,
            "RequestId": "1",
            "StackId": STACK,
            "ResponseURL": "https://cloudformation.example/answer",
            "LogicalResourceId": "Passed",
            "ResourceProperties": properties,
        }
        deploy_check.handler(event, None)
        said = json.loads(self.sent[-1].data)
        assert (said["RequestId"], said["StackId"], said["LogicalResourceId"]) == ("1", STACK, "Passed")
        assert said["PhysicalResourceId"] == "Passed"
        return said["Reason"] if said["Status"] == "FAILED" else None


@pytest.fixture
def formation(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[Formation]:
    """In the world of the other handlers, whose clients have credentials for nothing."""
    made = Formation(world.states)

    def urlopen(asked: Any, timeout: float) -> Any:
        made.sent.append(asked)
        return nullcontext()

    monkeypatch.setattr("urllib.request.urlopen", urlopen)
    monkeypatch.setattr("time.sleep", made.paused.append)
    with ExitStack() as stack:
        stack.enter_context(made.parameters.answering(clients.client("ssm")))
        stack.enter_context(made.stacks.answering(clients.client("cloudformation")))
        yield made


def test_another_version_is_refused_while_a_run_is_alive(formation: Formation) -> None:
    formation.run()
    refusal = formation.ask(version=2)
    assert refusal is not None
    assert f"run {RUN}" in refusal and "belay cancel" in refusal and "deploy_over_runs" in refusal
    [sent] = formation.sent
    assert (sent.method, sent.get_header("Content-type")) == ("PUT", "")


def test_a_teardown_is_alive_too(formation: Formation) -> None:
    formation.run(TEARDOWN_ARN)
    assert "teardown sweep-1" in str(formation.ask())


def test_a_version_from_before_the_number_is_another_one(formation: Formation) -> None:
    """Its stack has no such resource yet, so CloudFormation creates it."""
    formation.run()
    formation.parameters.document = {"version": 1}
    assert "version 0" in str(formation.ask("Create", version=1))


def test_many_are_counted_and_the_answer_stays_within_what_cloudformation_reads(formation: Formation) -> None:
    for number in range(300):
        formation.run(f"{ARN}-{number}")
    assert "and 290 more" in str(formation.ask())
    assert len(formation.sent[-1].data) < 4096


@pytest.mark.parametrize("status", ["SUCCEEDED", "FAILED", "ABORTED", "TIMED_OUT"])
def test_what_has_ended_is_in_nobodys_way(formation: Formation, status: str) -> None:
    formation.run(status=status)
    assert formation.ask() is None


def test_the_same_version_goes_on_with_what_is_alive(formation: Formation) -> None:
    formation.run()
    assert formation.ask(version=1) is None


def test_a_first_deployment_finds_nothing_to_compare_with(formation: Formation) -> None:
    formation.run()
    formation.parameters.document = None
    assert formation.ask("Create") is None


def test_a_delete_and_a_rollback_are_never_refused(formation: Formation) -> None:
    formation.run()
    assert formation.ask("Delete") is None
    formation.stacks.status = "UPDATE_ROLLBACK_IN_PROGRESS"
    assert formation.ask() is None


def test_a_person_may_deploy_over_runs(formation: Formation) -> None:
    formation.run()
    assert formation.ask(over=True) is None


def test_a_role_that_is_new_is_given_time(formation: Formation) -> None:
    formation.run()
    formation.parameters.denied = 2
    assert formation.ask() is not None
    assert formation.paused == [5, 10]


def test_a_check_that_cannot_look_refuses_nothing(formation: Formation) -> None:
    formation.run()
    formation.parameters.denied = 99
    assert formation.ask() is None
    assert sum(formation.paused) < 60
