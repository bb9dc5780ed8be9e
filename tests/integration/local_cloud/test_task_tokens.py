"""Task tokens: each is used once, and a task whose heartbeat is missed times out."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest
from botocore.exceptions import ClientError

from .machines import Machine, Machines, say
from .waiting import eventually

USED = "Task Timed Out: 'Provided task does not exist anymore'"


class Callback:
    """A machine that puts its token into a queue and waits for it."""

    def __init__(self, machines: Machines, **more: Any) -> None:
        self.sqs, self.states = machines.cloud.client("sqs"), machines.states
        self.queue = self.sqs.create_queue(QueueName=f"tokens-{uuid.uuid4().hex[:8]}")["QueueUrl"]
        ask: Machine = {"Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage.waitForTaskToken", "Next": "Say"}
        ask["Arguments"] = {"QueueUrl": self.queue, "MessageBody": "{% $states.context.Task.Token %}"}
        definition = {"Ask": {**ask, **more}, "Say": say("{% $states.input %}")}
        self.execution = machines.start(machines.make("Ask", definition))

    def token(self) -> str:
        found = eventually(lambda: self.sqs.receive_message(QueueUrl=self.queue).get("Messages"))
        self.sqs.delete_message(QueueUrl=self.queue, ReceiptHandle=found[0]["ReceiptHandle"])
        return str(found[0]["Body"])


def error_of(send: Any, **asked: str) -> dict[str, str]:
    with pytest.raises(ClientError) as raised:
        send(**asked)
    return dict(raised.value.response["Error"])


def test_a_token_is_used_once(machines: Machines) -> None:
    call = Callback(machines)
    token = call.token()
    machines.states.send_task_heartbeat(taskToken=token)
    refused = error_of(machines.states.send_task_success, taskToken=token, output="not json")
    assert refused["Code"] == "InvalidOutput"
    large = error_of(machines.states.send_task_success, taskToken=token, output=json.dumps("x" * 262_143))
    assert large["Code"] == "ValidationException"
    machines.states.send_task_success(taskToken=token, output='{"n": 1}')
    again = error_of(machines.states.send_task_success, taskToken=token, output='{"n": 2}')
    assert (again["Code"], again["Message"]) == ("TaskTimedOut", USED)
    assert json.loads(machines.end(call.execution)["output"]) == {"n": 1}
    for send in (machines.states.send_task_failure, machines.states.send_task_heartbeat):
        assert error_of(send, taskToken=token)["Code"] == "TaskTimedOut"


def test_a_token_that_was_never_given_is_invalid(machines: Machines) -> None:
    error = error_of(machines.states.send_task_success, taskToken="nonsense", output="{}")
    assert (error["Code"], error["Message"]) == ("InvalidToken", "Invalid Token: 'Invalid token'")


def test_a_stopped_execution_takes_no_token(machines: Machines) -> None:
    call = Callback(machines)
    token = call.token()
    machines.states.stop_execution(executionArn=call.execution)
    assert error_of(machines.states.send_task_success, taskToken=token, output="{}")["Code"] == "TaskTimedOut"


def test_a_retry_has_a_token_of_its_own(machines: Machines) -> None:
    call = Callback(machines, Retry=[{"ErrorEquals": ["Mine"], "IntervalSeconds": 1, "MaxAttempts": 1}])
    first = call.token()
    machines.states.send_task_failure(taskToken=first, error="Mine")
    second = call.token()
    assert second != first
    assert error_of(machines.states.send_task_success, taskToken=first, output="{}")["Code"] == "TaskTimedOut"
    machines.states.send_task_success(taskToken=second, output='"second"')
    assert json.loads(machines.end(call.execution)["output"]) == "second"


@pytest.mark.parametrize("name", ["States.HeartbeatTimeout", "States.Timeout", "States.ALL"])
def test_a_missed_heartbeat_can_be_caught(machines: Machines, name: str) -> None:
    catch = {"ErrorEquals": [name], "Output": "{% $states.errorOutput.Error %}", "Next": "Say"}
    call = Callback(machines, HeartbeatSeconds=1, TimeoutSeconds=100, Catch=[catch])
    assert json.loads(machines.end(call.execution)["output"]) == "States.Timeout"


def test_a_missed_heartbeat_that_nothing_catches_is_a_time_out(machines: Machines) -> None:
    catch = {"ErrorEquals": ["States.TaskFailed"], "Next": "Say"}
    call = Callback(machines, HeartbeatSeconds=1, TimeoutSeconds=100, Catch=[catch])
    end = machines.end(call.execution)
    assert (end["status"], end["error"]) == ("FAILED", "States.Timeout")
    events = machines.states.get_execution_history(executionArn=call.execution)["events"]
    assert [event["type"] for event in events[-2:]] == ["TaskTimedOut", "ExecutionFailed"]
