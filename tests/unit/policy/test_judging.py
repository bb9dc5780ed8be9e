import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from belay.contract import stop_reasons
from belay.contract.events import Failed, Finished, Started
from belay.contract.verdict import Durability, Ending, Training, Verdict
from belay.policy import judging
from belay.policy.trainer_log import Line, TrainerLog
from tools.proofs.fakes.world import RUN, STARTED_AT

Json = dict[str, Any]


def task(
    stop_code: str, stopped: str = "", *, exit_code: int | None = None, reason: str | None = None, placed: bool = True
) -> str:
    """The cause that Step Functions gives: the task in PascalCase, as a string."""
    container: Json = {"Name": "trainer", "LastStatus": "STOPPED"}
    if exit_code is not None:
        container["ExitCode"] = exit_code
    if reason is not None:
        container["Reason"] = reason
    instance = (
        {"ContainerInstanceArn": "arn:aws:ecs:us-east-1:123456789012:container-instance/belay/1"} if placed else {}
    )
    return json.dumps({"StopCode": stop_code, "StoppedReason": stopped, "Containers": [container], **instance})


ESSENTIAL = "Essential container in task exited"
FAILED = "States.TaskFailed"


@pytest.mark.parametrize(
    ("error", "cause", "outcome", "reason"),
    [
        # the program's own end
        (FAILED, task("EssentialContainerExited", ESSENTIAL, exit_code=1), "Crashed", "exit code 1"),
        (FAILED, task("EssentialContainerExited", ESSENTIAL, exit_code=0), "Crashed", "exit code 0"),
        (FAILED, task("EssentialContainerExited", ESSENTIAL, exit_code=139), "Crashed", "exit code 139"),
        (
            FAILED,
            task("EssentialContainerExited", ESSENTIAL, exit_code=137),
            "Crashed",
            "killed (exit code 137; often out of memory)",
        ),
        (
            FAILED,
            task("EssentialContainerExited", ESSENTIAL, exit_code=137, reason="OutOfMemoryError: Container killed"),
            "Crashed",
            "killed (exit code 137; OutOfMemoryError: Container killed)",
        ),
        (FAILED, task("EssentialContainerExited", ESSENTIAL), "Crashed", ESSENTIAL),
        # the instance was taken away
        (
            FAILED,
            task("SpotInterruption", "Your Spot Task was interrupted.", exit_code=143),
            "Interrupted",
            "Your Spot",
        ),
        (FAILED, task("TerminationNotice", "notice", exit_code=143), "Interrupted", "notice"),
        (FAILED, task("InfrastructureHealth", "unhealthy"), "Interrupted", "unhealthy"),
        (FAILED, task("EssentialContainerExited", "Host EC2 (instance i-1) terminated."), "Interrupted", "Host EC2"),
        (FAILED, task("EssentialContainerExited", ESSENTIAL, exit_code=143), "Interrupted", "exit code 143"),
        (FAILED, task("UserInitiated", f"{stop_reasons.INTERRUPTION}: i-1", exit_code=143), "Interrupted", "i-1"),
        # somebody stopped it
        (FAILED, task("UserInitiated", "Task stopped by user", exit_code=143), "Stopped", "Task stopped by user"),
        (FAILED, task("UserInitiated", "", exit_code=0), "Stopped", "stop code UserInitiated"),
        # it was never placed
        (
            FAILED,
            task("UserInitiated", f"{stop_reasons.NO_CAPACITY} within the limit"),
            "NoCapacity",
            "no instance took the task within its limit",
        ),
        (FAILED, task("TaskFailedToStart", "RESOURCE:GPU"), "NoCapacity", "RESOURCE:GPU"),
        (FAILED, task("TaskFailedToStart", "in words that nobody knows", placed=False), "NoCapacity", "in words"),
        (FAILED, task("TaskFailedToStart", "Capacity is unavailable at this time."), "NoCapacity", "unavailable"),
        (
            "ECS.InvalidParameterException",
            "No Container Instances were found in your cluster.",
            "NoCapacity",
            "No Cont",
        ),
        ("AmazonECS.Unknown", "RESOURCE:MEMORY", "NoCapacity", "RESOURCE:MEMORY"),
        ("AmazonECS.Unknown", "", "NoCapacity", "AmazonECS.Unknown"),
        ("ECS.ServerException", "Service: AmazonECS; Status Code: 500", "NoCapacity", "Status Code: 500"),
        # it was placed, and could not start
        (
            FAILED,
            task("TaskFailedToStart", "CannotPullContainerError: no such tag"),
            "Crashed",
            "CannotPullContainerError",
        ),
        # RunTask was refused
        ("ECS.ClusterNotFoundException", "Cluster not found.", "NeverStarted", "Cluster not found."),
        ("ECS.AccessDeniedException", "not authorized to perform: ecs:RunTask", "NeverStarted", "not authorized"),
        ("States.Permissions", "", "NeverStarted", "States.Permissions"),
        # time
        ("States.Timeout", "", "TimedOut", "its time limit passed"),
        (FAILED, task("EssentialContainerExited", exit_code=96), "TimeSpent", "limits.train left only"),
        (FAILED, task("EssentialContainerExited", exit_code=97), "BudgetSpent", "limits.budget_usd left only"),
        ("States.Timeout", task("EssentialContainerExited", exit_code=1), "TimedOut", "its time limit passed"),
        # nothing that makes sense
        (FAILED, "not json", "Crashed", "not json"),
        (FAILED, "[1, 2]", "Crashed", "[1, 2]"),
        (FAILED, '{"Containers": "none"}', "Crashed", "stop code -"),
        (FAILED, '{"Containers": [null, {"Name": "trainer", "ExitCode": "1"}]}', "Crashed", "stop code -"),
        (None, None, "Crashed", "no cause was given"),
        (7, {"StopCode": 1}, "Crashed", "7"),
    ],
)
def test_the_end_of_a_task_is_judged_by_its_cause(error: Any, cause: Any, outcome: str, reason: str) -> None:
    ending = judging.of_task(error, cause)
    assert ending.outcome == outcome
    assert reason in ending.reason


def test_a_reason_is_one_line_that_fits_into_a_sentence() -> None:
    ending = judging.of_task("States.TaskFailed", "a\n" * 5000)
    assert "\n" not in ending.reason
    assert len(ending.reason) <= 300


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["StopCode", "StoppedReason", "Containers", "Name", "ExitCode", "Reason"]) | st.text(),
            inner,
        )
    ),
    max_leaves=12,
)


@given(error=st.none() | st.text() | st.integers(), cause=st.text() | json_values | json_values.map(json.dumps))
def test_judging_never_raises(error: Any, cause: Any) -> None:
    assert judging.of_task(error, cause).outcome in Training


@pytest.mark.parametrize(
    ("outcome", "made", "allowed", "retry", "after"),
    [
        (Training.CRASHED, 0, 0, False, 1),
        (Training.CRASHED, 0, 1, True, 1),
        (Training.CRASHED, 1, 1, False, 2),
        (Training.INTERRUPTED, 3, 10, True, 4),
        (Training.NO_CAPACITY, 2, 2, False, 3),
        (Training.TIMED_OUT, 0, 100, False, 0),
        (Training.TIME_SPENT, 0, 100, False, 0),
        (Training.BUDGET_SPENT, 0, 100, False, 0),
        (Training.STOPPED, 0, 100, False, 0),
        (Training.NEVER_STARTED, 0, 100, False, 0),
    ],
)
def test_each_cause_is_retried_as_often_as_the_job_says(
    outcome: Training, made: int, allowed: int, retry: bool, after: int
) -> None:
    cause = {"Interrupted": "interruption", "NoCapacity": "capacity"}.get(outcome, "crash")
    others = {"capacity": 0, "interruption": 0, "crash": 0}
    answer = judging.decide_retry(outcome, others | {cause: made}, dict.fromkeys(others, 0) | {cause: allowed})
    if allowed == 100:
        answer = judging.decide_retry(outcome, others, dict.fromkeys(others, allowed))
    assert answer == (retry, others | {cause: after})


@pytest.mark.parametrize("broken", [None, [], "2", {"crash": "2"}, {"crash": -1}, {}])
def test_counts_that_are_broken_allow_nothing(broken: Any) -> None:
    assert judging.decide_retry(Training.CRASHED, {"crash": 0}, broken)[0] is False


@pytest.mark.parametrize(
    ("status", "error", "cause", "outcome", "reason"),
    [
        ("SUCCEEDED", "", "", "Completed", "the execution succeeded"),
        ("ABORTED", "", "", "Stopped", "the execution was stopped"),
        ("ABORTED", "", "wrong data", "Stopped", "the execution was stopped (wrong data)"),
        ("TIMED_OUT", "", "", "TimedOut", "the execution ran out of time"),
        ("FAILED", "States.Runtime", "no such path", "Crashed", "the execution failed (States.Runtime: no such path)"),
        ("BANISHED", "", "", "Crashed", "the execution ended as BANISHED"),
    ],
)
def test_an_execution_that_ended_says_how_training_ended(
    status: str, error: str, cause: str, outcome: str, reason: str
) -> None:
    ending = judging.of_execution(status, error, cause)
    assert (ending.outcome, ending.reason, ending.source) == (outcome, reason, "execution")


@pytest.mark.parametrize("training", Training)
def test_the_verdict_of_an_earlier_teardown_is_read_back_from_the_error_name(training: Training) -> None:
    verdict = Verdict(
        training=training, durability=Durability.KEPT, reason="r", last_verified_step=None, where="s3://b/p/"
    )
    assert judging.of_execution("FAILED", verdict.error, verdict.sentence).outcome is training


def test_a_teardown_that_did_not_finish_still_says_how_training_ended() -> None:
    assert judging.of_execution("FAILED", "TrainingCompleted.TeardownUnfinished", "x").outcome is Training.COMPLETED


def _log(*events: Any) -> TrainerLog:
    return TrainerLog("log", [Line(event.line(), event) for event in events])


_STARTED = Started(at=STARTED_AT, run=RUN, attempt=1, job="digits", processes=1)
_FINISHED = Finished(at=STARTED_AT, run=RUN, attempt=1, step=40)
_FAILED = Failed(at=STARTED_AT, run=RUN, attempt=1, exit_code=1, reason="boom")
_ABORTED = Ending(outcome=Training.STOPPED, reason="the execution was stopped", source="execution")
_FROM_TASK = Ending(outcome=Training.STOPPED, reason="Task stopped by user", source="task")


@pytest.mark.parametrize(
    ("ending", "log", "outcome"),
    [
        (_ABORTED, TrainerLog("silent"), "NeverStarted"),
        (_ABORTED, TrainerLog("s3-only"), "Stopped"),
        (_ABORTED, _log(_STARTED), "Stopped"),
        (_ABORTED, _log(_STARTED, _FINISHED), "Completed"),
        (_ABORTED, _log(_STARTED, _FINISHED, _STARTED), "Stopped"),
        (_ABORTED, _log(_STARTED, _FAILED), "Stopped"),
        (_FROM_TASK, _log(_STARTED, _FINISHED), "Stopped"),
        (_FROM_TASK, TrainerLog("silent"), "Stopped"),
        (judging.of_execution("SUCCEEDED", "", ""), TrainerLog("silent"), "Completed"),
    ],
)
def test_the_trainers_own_words_outweigh_a_guess_and_not_a_judgement(
    ending: Ending, log: TrainerLog, outcome: str
) -> None:
    assert judging.corrected(ending, log).outcome == outcome
