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
    }


@pytest.mark.parametrize("event", [{}, {"error": None}, {"attempts": 3, "retry": []}])
def test_it_answers_whatever_it_is_asked(world: World, event: dict[str, object]) -> None:
    answer = world.ask(judge, event)
    assert (answer["outcome"], answer["retry"]) == ("Crashed", False)


def test_an_error_that_says_nothing_of_the_task_leaves_it_to_what_the_trainer_said(world: World) -> None:
    answer = world.ask(judge, {"error": "SdkClientException", "cause": "the reply was lost"})
    assert (answer["outcome"], answer["source"]) == ("Crashed", "execution")
