"""The limits of Step Functions on data, variables and histories, as AWS sets them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from .machines import Machine, Machines, say
from .waiting import eventually

LIMIT_BYTES = 262_144
LARGE = "$pad('', 300000, 'x')"


def test_an_output_does_not_see_what_its_own_state_assigns(machines: Machines) -> None:
    first = {"Type": "Pass", "Assign": {"n": 1}, "Next": "Second"}
    second = {"Type": "Pass", "Assign": {"n": "{% $n + 1 %}"}, "Output": {"then": "{% $n %}"}, "Next": "Third"}
    third = say({"then": "{% $states.input.then %}", "now": "{% $n %}"})
    end = machines.run("First", {"First": first, "Second": second, "Third": third})
    assert json.loads(end["output"]) == {"then": 1, "now": 2}


def test_an_output_cannot_read_a_variable_that_its_state_is_the_first_to_assign(machines: Machines) -> None:
    end = machines.run("Keep", {"Keep": {"Type": "Pass", "Assign": {"n": 1}, "Output": "{% $n %}", "End": True}})
    assert end["error"] == "States.QueryEvaluationError"


def test_a_catch_and_a_choice_do_not_see_what_they_assign(machines: Machines) -> None:
    begin = {"Type": "Pass", "Assign": {"n": 1}, "Next": "Both"}
    fail = {"StartAt": "Fail", "States": {"Fail": {"Type": "Fail", "Error": "Mine"}}}
    both: Machine = {"Type": "Parallel", "Branches": [fail], "Next": "Choose"}
    catch = {"ErrorEquals": ["Mine"], "Assign": {"n": 2}, "Output": {"caught": "{% $n %}"}, "Next": "Choose"}
    rule = {"Condition": "{% true %}", "Assign": {"n": "{% $n + 1 %}"}, "Output": "{% $states.input %}", "Next": "Say"}
    states = {
        "Begin": begin,
        "Both": {**both, "Catch": [catch]},
        "Choose": {"Type": "Choice", "Choices": [rule]},
        "Say": say({"caught": "{% $states.input.caught %}", "now": "{% $n %}"}),
    }
    assert json.loads(machines.run("Begin", states)["output"]) == {"caught": 1, "now": 3}


def test_an_output_of_more_than_256_kib_fails(machines: Machines) -> None:
    end = machines.run("Grow", {"Grow": {"Type": "Pass", "Output": "{% " + LARGE + " %}", "End": True}})
    assert (end["status"], end["error"]) == ("FAILED", "States.DataLimitExceeded")
    assert end["cause"] == (
        "The state/task 'Grow' returned a result with a size exceeding the maximum number of bytes service limit."
    )


# The JSON of a text has two quotation marks; an umlaut counts as its two bytes.
@pytest.mark.parametrize(
    ("letter", "number", "status"),
    [
        ("x", LIMIT_BYTES - 2, "SUCCEEDED"),
        ("x", LIMIT_BYTES - 1, "FAILED"),
        ("ü", LIMIT_BYTES // 2 - 1, "SUCCEEDED"),
        ("ü", LIMIT_BYTES // 2, "FAILED"),
    ],
)
def test_the_limit_is_counted_in_bytes(machines: Machines, letter: str, number: int, status: str) -> None:
    fill = {"Type": "Pass", "Output": "{% $pad('', " + f"{number}, '{letter}'" + ") %}", "End": True}
    assert machines.run("Fill", {"Fill": fill})["status"] == status


@pytest.mark.parametrize(
    "assigned",
    [{"a": "{% " + LARGE + " %}"}, {"a": "{% $pad('', 140000, 'x') %}", "b": "{% $pad('', 140000, 'x') %}"}],
    ids=["one variable", "two together"],
)
def test_an_assign_of_more_than_256_kib_fails(machines: Machines, assigned: Machine) -> None:
    keep = {"Type": "Pass", "Assign": assigned, "Output": {}, "End": True}
    assert machines.run("Keep", {"Keep": keep})["error"] == "States.DataLimitExceeded"


def test_all_variables_together_have_at_most_10_mib(machines: Machines) -> None:
    size = 250_000
    states: Machine = {}
    for number in range(43):  # 10.25 MiB
        assign = {f"v{number}": "{% $pad('', " + str(size) + ", 'x') %}"}
        states[f"Keep {number}"] = {"Type": "Pass", "Assign": assign, "Output": {}, "Next": f"Keep {number + 1}"}
    states["Keep 43"] = say("kept")
    end = machines.run("Keep 0", states)
    assert end["error"] == "States.DataLimitExceeded"
    assert "'Keep 41'" in end["cause"]


def test_arguments_of_more_than_256_kib_fail_the_task(machines: Machines) -> None:
    ask: Machine = {"Type": "Task", "Resource": "arn:aws:states:::aws-sdk:sns:publish", "End": True}
    ask["Arguments"] = {"TopicArn": "arn:aws:sns:us-east-1:1:none", "Message": "{% " + LARGE + " %}"}
    assert machines.run("Ask", {"Ask": ask})["error"] == "States.DataLimitExceeded"


def test_a_history_of_25000_events_fails_the_execution(machines: Machines) -> None:
    execution = machines.start(machines.make("Loop", {"Loop": {"Type": "Pass", "Next": "Loop"}}))
    end = machines.end(execution)
    assert (end["status"], end["error"]) == ("FAILED", "States.Runtime")
    assert end["cause"] == "The execution reached the maximum number of history events (25000)."
    last = last_events(machines, execution, 1)[0]
    assert (last["id"], last["type"]) == (25_000, "ExecutionFailed")


def test_a_full_history_ends_all_branches_and_is_not_caught(machines: Machines) -> None:
    loop = {"StartAt": "Loop", "States": {"Loop": {"Type": "Pass", "Next": "Loop"}}}
    sleep = {"StartAt": "Sleep", "States": {"Sleep": {"Type": "Wait", "Seconds": 100_000_000, "End": True}}}
    both: Machine = {"Type": "Parallel", "Branches": [loop, sleep], "Next": "Said"}
    both["Catch"] = [{"ErrorEquals": ["States.ALL"], "Next": "Said"}]
    execution = machines.start(machines.make("Both", {"Both": both, "Said": say("caught")}))
    assert machines.end(execution)["error"] == "States.Runtime"
    last = last_events(machines, execution, 1)[0]
    assert (last["id"], last["type"]) == (25_000, "ExecutionFailed")


def slow_call(machines: Machines) -> Machine:
    """A task that takes two seconds and cannot be interrupted."""
    queue = machines.cloud.client("sqs").create_queue(QueueName="stays-empty")["QueueUrl"]
    ask: Machine = {"Type": "Task", "Resource": "arn:aws:states:::aws-sdk:sqs:receiveMessage", "End": True}
    return {**ask, "Arguments": {"QueueUrl": queue, "WaitTimeSeconds": 2}}


def test_the_history_of_an_execution_that_took_too_long_ends_with_that(machines: Machines) -> None:
    execution = machines.start(machines.make("Ask", {"Ask": slow_call(machines)}, TimeoutSeconds=1))
    assert machines.end(execution)["status"] == "TIMED_OUT"
    assert last_events(machines, execution, 1)[0]["type"] == "ExecutionTimedOut"


def test_nothing_follows_an_abort_though_a_call_still_runs(machines: Machines) -> None:
    machine = machines.make("Ask", {"Ask": slow_call(machines)})
    execution = machines.start(machine)
    eventually(lambda: any(event["type"] == "TaskStarted" for event in last_events(machines, execution, 1)))
    machines.states.stop_execution(executionArn=execution, error="Mine", cause="enough")
    aborted = last_events(machines, execution, 1)[0]
    assert (aborted["type"], aborted["previousEventId"]) == ("ExecutionAborted", 0)
    assert aborted["executionAbortedEventDetails"] == {"error": "Mine", "cause": "enough"}
    # An execution that starts now ends after the call of the stopped one.
    machines.end(machines.start(machine))
    assert last_events(machines, execution, 1) == [aborted]


def test_an_execution_that_is_stopped_at_once_does_nothing(machines: Machines) -> None:
    sqs = machines.cloud.client("sqs")
    queue = sqs.create_queue(QueueName="receives-nothing")["QueueUrl"]
    send: Machine = {"Type": "Task", "Resource": "arn:aws:states:::aws-sdk:sqs:sendMessage", "Next": "P0"}
    send["Arguments"] = {"QueueUrl": queue, "MessageBody": "begun"}
    # So many states that the interpreter reads the definition for some time before it begins.
    more: Machine = {f"P{number}": {"Type": "Pass", "Next": f"P{number + 1}"} for number in range(300)}
    machine = machines.make("Send", {"Send": send, **more, "P300": say(1)})
    execution = machines.start(machine)
    machines.states.stop_execution(executionArn=execution)
    assert "Messages" not in sqs.receive_message(QueueUrl=queue, WaitTimeSeconds=5)
    assert machines.end(execution)["status"] == "ABORTED"
    assert last_events(machines, execution, 1)[0]["type"] == "ExecutionAborted"


def last_events(machines: Machines, execution: str, number: int) -> list[dict[str, Any]]:
    asked = {"executionArn": execution, "reverseOrder": True, "maxResults": number}
    return list(machines.states.get_execution_history(**asked)["events"])


@pytest.mark.parametrize(
    ("given", "code", "words"),
    [
        ("", "InvalidExecutionInput", "'Invalid execution input.'"),
        ("not json", "InvalidExecutionInput", "Invalid State Machine Execution Input: '"),
        ('{"n": NaN}', "InvalidExecutionInput", "Invalid State Machine Execution Input: '"),
        (
            json.dumps("ü" * 131_072, ensure_ascii=False),
            "ValidationException",
            "1 validation error detected: Value at 'input' failed to satisfy constraint: "
            "Member must have size less than or equal to 262144 bytes in UTF-8 encoding",
        ),
    ],
    ids=["empty", "text", "NaN", "too large"],
)
def test_an_input_that_aws_refuses_starts_nothing(machines: Machines, given: str, code: str, words: str) -> None:
    machine = machines.make("Say", {"Say": say(1)})
    with pytest.raises(ClientError) as raised:
        machines.states.start_execution(stateMachineArn=machine, input=given)
    error = raised.value.response["Error"]
    assert error["Code"] == code
    assert words in error["Message"]
    assert machines.states.list_executions(stateMachineArn=machine)["executions"] == []


def test_an_input_of_exactly_262144_bytes_is_taken_and_none_is_an_empty_object(machines: Machines) -> None:
    machine = machines.make("Say", {"Say": say("{% $type($states.input) %}")})
    for given in ({"input": json.dumps("x" * (LIMIT_BYTES - 2))}, {}):
        started = machines.states.start_execution(stateMachineArn=machine, **given)
        kind = json.loads(machines.end(started["executionArn"])["output"])
        assert kind == ("string" if given else "object")


@pytest.mark.parametrize(
    ("asked", "code", "words"),
    [
        ({"name": "x" * 81}, "ValidationException", "at 'name' failed to satisfy constraint: Member must have length"),
        ({"name": "a b"}, "InvalidName", "Invalid Name: 'a b'"),
        ({"stateMachineArn": "nonsense"}, "InvalidArn", "Invalid Arn: 'Invalid ARN prefix: nonsense'"),
        (
            {"stateMachineArn": "arn:aws:states:us-east-1:000000000000:stateMachine:none"},
            "StateMachineDoesNotExist",
            "State Machine Does Not Exist: 'arn:aws:states:us-east-1:000000000000:stateMachine:none'",
        ),
    ],
)
def test_a_start_that_aws_refuses(machines: Machines, asked: dict[str, str], code: str, words: str) -> None:
    machine = machines.make("Say", {"Say": say(1)})
    with pytest.raises(ClientError) as raised:
        machines.states.start_execution(**{"stateMachineArn": machine, **asked})
    assert raised.value.response["Error"]["Code"] == code
    assert words in raised.value.response["Error"]["Message"]


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"statusFilter": "succeeded"}, "ValidationException"),
        ({"statusFilter": "PENDING_REDRIVE"}, "ValidationException"),
        ({"maxResults": 1001}, "ValidationException"),
        ({"stateMachineArn": "nonsense"}, "InvalidArn"),
        ({"stateMachineArn": "arn:aws:states:us-east-1:000000000000:stateMachine:none"}, "StateMachineDoesNotExist"),
    ],
)
def test_a_list_that_aws_refuses(machines: Machines, asked: dict[str, Any], code: str) -> None:
    machine = machines.make("Say", {"Say": say(1)})
    with pytest.raises(ClientError) as raised:
        machines.states.list_executions(**{"stateMachineArn": machine, **asked})
    assert raised.value.response["Error"]["Code"] == code


def test_a_redrive_is_refused_as_aws_does_or_named_as_missing(machines: Machines) -> None:
    def code(execution: str) -> str:
        with pytest.raises(ClientError) as raised:
            machines.states.redrive_execution(executionArn=execution)
        return str(raised.value.response["Error"]["Code"])

    said = machines.start(machines.make("Say", {"Say": say(1)}))
    failed = machines.start(machines.make("Fail", {"Fail": {"Type": "Fail", "Error": "Mine"}}))
    for execution in (said, failed):
        machines.end(execution)
    assert code(said) == "ExecutionNotRedrivable"
    assert code(said + "-none") == "ExecutionDoesNotExist"
    # This cloud cannot go on from the failed state, and says so instead of seeming to.
    assert code(failed) == "NotImplemented"
