import json
from datetime import UTC, datetime, timedelta
from typing import Any

from belay.client.history import Entered, child_execution, entered, troubles
from belay.contract.states import TrainState

START = datetime(2026, 11, 21, 2, 44, 55, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def event(seconds: float, kind: str, **details: Any) -> dict[str, Any]:
    return {"id": int(seconds * 10) + 1, "timestamp": at(seconds), "type": kind, **details}


def state(seconds: float, kind: str, name: str) -> dict[str, Any]:
    return event(seconds, f"{kind}StateEntered", stateEnteredEventDetails={"name": name})


def test_states_are_told_in_their_order_with_their_moment() -> None:
    events = [event(0, "ExecutionStarted"), state(1, "Task", "Accept job"), state(2, "Parallel", "Train")]

    assert entered(events) == [Entered(at(1), "Accept job"), Entered(at(2), "Train")]


def test_a_poll_is_told_by_where_it_led_and_not_by_its_rounds() -> None:
    rounds = [
        state(turn + offset, kind, f"Links: {name}")
        for turn in range(3)
        for offset, kind, name in ((0.0, "Wait", "wait"), (0.1, "Task", "how far?"), (0.2, "Choice", "ready?"))
    ]
    events = [state(0, "Pass", "Links: asked for"), *rounds, state(4, "Pass", "Links: ready")]

    assert [one.state for one in entered(events)] == ["Links: ready"]


def test_states_of_the_teardown_are_marked_as_such() -> None:
    assert entered([state(1, "Task", "Verify")], teardown=True) == [Entered(at(1), "Verify", teardown=True)]


def test_the_teardown_is_found_where_train_submitted_it() -> None:
    submitted = {"resourceType": "states", "output": json.dumps({"ExecutionArn": "arn:teardown"})}
    task = {"resourceType": "ecs", "output": json.dumps({"Tasks": []})}
    given_back = {"resourceType": "states", "output": json.dumps({"ExecutionArn": "arn:given-back"})}
    events = [
        event(1, "TaskSubmitted", taskSubmittedEventDetails=task),
        event(2, "TaskStateEntered", stateEnteredEventDetails={"name": TrainState.GIVE_BACK}),
        event(3, "TaskSubmitted", taskSubmittedEventDetails=given_back),
        event(4, "TaskStateEntered", stateEnteredEventDetails={"name": TrainState.TEARDOWN}),
        event(5, "TaskSubmitted", taskSubmittedEventDetails=submitted),
    ]

    assert child_execution(events[:4]) is None
    assert child_execution(events) == "arn:teardown"


def test_a_stopped_task_is_told_by_its_exit_code_and_not_by_its_json() -> None:
    task = {"StoppedReason": "Essential container in task exited", "Containers": [{"ExitCode": 137}]}
    failed = {"error": "States.TaskFailed", "cause": json.dumps(task)}

    [trouble] = troubles([event(5, "TaskFailed", taskFailedEventDetails=failed)])

    assert (trouble.at, trouble.error) == (at(5), "States.TaskFailed")
    assert trouble.cause == "Essential container in task exited (exit code 137)"


def test_of_a_function_that_failed_its_message_is_told_and_not_its_trace() -> None:
    said = {"errorMessage": "resume: not there", "errorType": "JobRefused", "stackTrace": [" File accept.py, line 48"]}
    failed = {"error": "JobRefused", "cause": json.dumps(said)}
    [trouble] = troubles([event(5, "TaskFailed", taskFailedEventDetails=failed)])
    assert trouble.cause == "resume: not there"


def test_of_a_teardown_that_failed_its_error_is_told_and_not_all_of_it() -> None:
    said = {"ExecutionArn": "arn:teardown", "Error": "TrainingCrashed.CheckpointsKept", "Cause": "not proven"}
    failed = {"error": "States.TaskFailed", "cause": json.dumps(said)}
    [trouble] = troubles([event(5, "TaskFailed", taskFailedEventDetails=failed)])
    assert trouble.cause == "TrainingCrashed.CheckpointsKept: not proven"


def test_any_other_cause_is_told_as_it_is() -> None:
    refused = {"error": "FSx.FSxException", "cause": "not authorized\nat all"}
    timed_out = {"error": "States.Timeout"}
    events = [
        event(1, "TaskFailed", taskFailedEventDetails=refused),
        event(2, "TaskTimedOut", taskTimedOutEventDetails=timed_out),
    ]

    assert [(one.error, one.cause) for one in troubles(events)] == [
        ("FSx.FSxException", "not authorized\nat all"),
        ("States.Timeout", ""),
    ]
