"""A Spot warning reaches the training on that instance, as a stop that will be known for what it was."""

from typing import Any

import pytest
from pydantic import ValidationError

from belay.contract.verdict import Training
from belay.policy import judging
from lambdas.safety import interrupt
from tools.proofs.fakes.world import RUN, World

GOES, STAYS = "i-0aaaaaaaaaaaaaaaa", "i-0bbbbbbbbbbbbbbbb"


def warning(instance: str) -> dict[str, Any]:
    return {
        "source": "aws.ec2",
        "detail-type": "EC2 Spot Instance Interruption Warning",
        "detail": {"instance-id": instance, "instance-action": "terminate"},
    }


def test_only_what_runs_on_the_instance_is_stopped(world: World) -> None:
    goes = [world.ecs.add(f"goes-{number}", run=RUN, instance=GOES) for number in range(3)]
    stays = world.ecs.add("stays", run=RUN, instance=STAYS)

    assert world.ask(interrupt, warning(GOES)) == {"stopped": goes}
    assert {world.ecs.tasks[arn]["desiredStatus"] for arn in goes} == {"STOPPED"}
    assert world.ecs.tasks[stays]["desiredStatus"] == "RUNNING"


def test_the_stop_is_judged_as_an_interruption_and_not_as_somebodys_wish(world: World) -> None:
    task = world.ecs.add("goes", run=RUN, instance=GOES)
    world.ask(interrupt, warning(GOES))

    reason = world.ecs.tasks[task]["stoppedReason"]
    cause = f'{{"StopCode": "UserInitiated", "StoppedReason": "{reason}", "Containers": []}}'
    ending = judging.of_task("States.TaskFailed", cause)
    assert ending.outcome is Training.INTERRUPTED and GOES in ending.reason


def test_the_instances_of_others_are_none_of_ours(world: World) -> None:
    world.ecs.add("stays", run=RUN, instance=STAYS)
    assert world.ask(interrupt, warning(GOES)) == {"stopped": []}


@pytest.mark.parametrize("instance", ["", "i-", "i-0123 or runningTasksCount > 0", "i-0123456789abcdef0\n", None])
def test_what_is_no_instance_gets_into_no_query(world: World, instance: Any) -> None:
    with pytest.raises(ValidationError):
        world.ask(interrupt, warning(instance))
