"""Faults injected into an execution at one of its states."""

from __future__ import annotations

import uuid

import pytest

from tools.local_cloud.cloud import LocalCloud
from tools.local_cloud.faults import StateFails, StopsAt

from .machines import Machine, Machines

_TAG = {
    "Type": "Task",
    "Resource": "arn:aws:states:::aws-sdk:sqs:createQueue",
    "Arguments": {"QueueName": "{% $states.input.queue %}"},
    "End": True,
}


def _queues(cloud: LocalCloud, name: str) -> int:
    return len(cloud.client("sqs").list_queues(QueueNamePrefix=name).get("QueueUrls", []))


@pytest.mark.parametrize(("after", "made"), [(False, 0), (True, 1)])
def test_a_call_fails_before_it_is_made_or_after_it_took_effect(
    cloud: LocalCloud, machines: Machines, after: bool, made: int
) -> None:
    name = f"q-{uuid.uuid4().hex[:8]}"
    cloud.inject(StateFails(state="Make", error="Lost", after=after, where={"queue": name}))
    ended = machines.run("Make", {"Make": _TAG}, {"queue": name})
    assert (ended["status"], ended["error"]) == ("FAILED", "Lost")
    assert _queues(cloud, name) == made
    cloud.clear_faults({"queue": name})
    assert machines.run("Make", {"Make": _TAG}, {"queue": name})["status"] == "SUCCEEDED"


def test_what_fails_once_succeeds_when_it_is_repeated(cloud: LocalCloud, machines: Machines) -> None:
    name = f"q-{uuid.uuid4().hex[:8]}"
    cloud.inject(StateFails(state="Make", error="States.Timeout", times=1, where={"queue": name}))
    retried = {**_TAG, "Retry": [{"ErrorEquals": ["States.Timeout"], "MaxAttempts": 1}]}
    assert machines.run("Make", {"Make": retried}, {"queue": name})["status"] == "SUCCEEDED"


def test_an_execution_is_stopped_where_it_enters_a_state_and_does_nothing_more(
    cloud: LocalCloud, machines: Machines
) -> None:
    name = f"q-{uuid.uuid4().hex[:8]}"
    flow: dict[str, Machine] = {"Before": {"Type": "Pass", "Next": "Make"}, "Make": _TAG}
    cloud.inject(StopsAt(state="Make", where={"queue": name}))
    assert machines.run("Before", flow, {"queue": name})["status"] == "ABORTED"
    assert _queues(cloud, name) == 0
    assert cloud.waiting_faults() == []
