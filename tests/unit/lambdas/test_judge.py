"""The table of ends is in tests/unit/policy/test_judging.py; here is what goes in and comes out."""

import json

import pytest

from lambdas.training import judge
from tools.proofs.fakes.world import World


def test_a_crash_is_judged_and_counted(world: World) -> None:
    cause = {"StopCode": "EssentialContainerExited", "Containers": [{"Name": "trainer", "ExitCode": 1}]}
    answer = world.ask(
        judge,
        {
            "error": "States.TaskFailed",
            "cause": json.dumps(cause),
            "attempts": {"capacity": 1, "interruption": 0, "crash": 0},
            "retry": {"capacity": 2, "interruption": 10, "crash": 1},
        },
    )
    assert answer == {
        "outcome": "Crashed",
        "reason": "exit code 1",
        "source": "task",
        "retry": True,
        "attempts": {"capacity": 1, "interruption": 0, "crash": 1},
        "wait": "nothing",
    }


@pytest.mark.parametrize(
    ("error", "cause", "wait"),
    [
        ("ECS.AmazonECSException", "RESOURCE:GPU", "an instance"),
        ("NeverStarted", "FSx.InternalServerErrorException: the service is unavailable", "a service"),
        ("NeverStarted", "Scratch file system: FAILED: no capacity in this zone", "a service"),
        ("NeverStarted", "Lambda.ServiceException: ", "a service"),
        ("NeverStarted", "FSx.ServiceLimitExceededException: 100 file systems", "a service"),
        # Time does not remove these.
        ("NeverStarted", "FSx.FSxException: User is not authorized to perform: fsx:CreateFileSystem", "nothing"),
        ("NeverStarted", "FSx.BadRequestException: wrong subnet", "nothing"),
        ("NeverStarted", "Link: MISCONFIGURED: the bucket is in another Region", "nothing"),
        ("NeverStarted", "Link: FAILED: Amazon FSx is unable to validate access to the S3 bucket", "nothing"),
        (
            "States.TaskFailed",
            '{"StopCode": "TaskFailedToStart", "ContainerInstanceArn": "arn:1",'
            ' "StoppedReason": "ResourceInitializationError: failed to create the log stream: 503"}',
            "a service",
        ),
        (
            "States.TaskFailed",
            '{"StopCode": "TaskFailedToStart", "ContainerInstanceArn": "arn:1",'
            ' "StoppedReason": "CannotPullContainerError: trainer:1 not found"}',
            "nothing",
        ),
        # A training that failed is not a service that is away.
        ("States.TaskFailed", '{"StopCode": "UserInitiated", "StoppedReason": "by hand"}', "nothing"),
        ("States.Timeout", "", "nothing"),
    ],
)
def test_a_run_that_could_not_start_waits_for_what_may_come_back(
    world: World, error: str, cause: str, wait: str
) -> None:
    answer = world.ask(judge, {"error": error, "cause": cause, "retry": {"capacity": 0}})
    assert answer["wait"] == wait
    assert not answer["retry"]


def test_with_a_retry_left_the_run_keeps_its_file_system(world: World) -> None:
    answer = world.ask(
        judge, {"error": "ECS.AmazonECSException", "cause": "RESOURCE:GPU", "attempts": {}, "retry": {"capacity": 1}}
    )
    assert (answer["retry"], answer["wait"]) == (True, "nothing")


@pytest.mark.parametrize("event", [{}, {"error": None}, {"attempts": 3, "retry": []}])
def test_it_answers_whatever_it_is_asked(world: World, event: dict[str, object]) -> None:
    answer = world.ask(judge, event)
    assert (answer["outcome"], answer["retry"]) == ("Crashed", False)


def test_an_error_that_says_nothing_of_the_task_leaves_it_to_what_the_trainer_said(world: World) -> None:
    answer = world.ask(judge, {"error": "SdkClientException", "cause": "the reply was lost"})
    assert (answer["outcome"], answer["source"]) == ("Crashed", "execution")
