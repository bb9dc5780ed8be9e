"""Which instance a task gets: started from zero, filled by size, ended when idle, never more than the group may."""

from __future__ import annotations

from typing import Any

import pytest

from tools.local_cloud.clock import VirtualClock
from tools.local_cloud.services.ecs.capacity import Capacity, Group, Instance
from tools.local_cloud.services.ecs.model import Task, new_task
from tools.local_cloud.services.ecs.sizes import UnknownInstanceType, size_of

DISTINCT = [{"type": "distinctInstance"}]
BOOT, IDLE = 181.0, 901.0


def task(*, cpu: int = 1024, memory: int = 2048, gpus: int = 0, distinct: bool = False, **override: Any) -> Task:
    asked = {"name": "trainer", "cpu": cpu, "memory": memory, **override}
    asked["resourceRequirements"] = [{"type": "GPU", "value": str(gpus)}] if gpus else []
    definition = {
        "family": "trainer",
        "taskDefinitionArn": "arn:trainer:1",
        "containerDefinitions": [{"name": "trainer", "image": "trainer:1", "memory": 512}],
    }
    return new_task(
        {"placementConstraints": DISTINCT if distinct else []},
        cluster="belay",
        definition=definition,
        overrides={"trainer": asked},
        launch_type="EC2",
        capacity_provider="on-demand",
        now=0.0,
    )


class World:
    """A capacity in virtual time, on instances of one type."""

    def __init__(self, max_instances: int = 4, kind: str = "g6.xlarge") -> None:
        self.clock = VirtualClock()
        self.capacity = Capacity(clock=self.clock)
        self.group = Group(size=size_of(kind), max_instances=max_instances)

    def place(self, one: Task) -> Instance | None:
        return self.capacity.place(one, self.group)

    def placed(self, one: Task) -> Instance:
        """Waited for."""
        if found := self.place(one):
            return found
        self.clock.advance(BOOT)
        found = self.place(one)
        assert found
        return found

    @property
    def instances(self) -> int:
        return len(self.capacity.hosts("belay"))


def test_from_zero_two_instances_start_and_the_task_waits_for_one_of_them() -> None:
    world, first = World(), task()
    assert world.place(first) is None
    assert world.instances == 0
    world.clock.advance(BOOT)
    assert world.instances == 2
    assert world.place(first)


def test_a_group_of_one_instance_starts_one() -> None:
    world = World(max_instances=1)
    world.placed(task())
    assert world.instances == 1


def test_the_instance_that_came_without_a_task_takes_the_next_at_once() -> None:
    world = World()
    first = world.placed(task(distinct=True))
    second = world.place(task(distinct=True))
    assert second is not None
    assert second is not first


def test_tasks_beyond_what_the_group_may_start_wait_until_one_ends() -> None:
    world = World(max_instances=2)
    placed = [task(distinct=True), task(distinct=True)]
    for one in placed:
        world.placed(one)
    third = task(distinct=True)
    world.place(third)
    world.clock.advance(10 * BOOT)
    assert world.place(third) is None
    assert world.instances == 2
    world.capacity.release(placed[0])
    assert world.place(third)


@pytest.mark.parametrize(
    ("first", "second", "together"),
    [
        ({"cpu": 2048}, {"cpu": 2048}, True),
        ({"cpu": 2048}, {"cpu": 2049}, False),
        ({"memory": 8000}, {"memory": 8000}, False),
        ({"memory": 14_000, "memoryReservation": 6000}, {"memory": 8000}, True),
        ({"gpus": 1}, {"gpus": 1}, False),
        ({"gpus": 1}, {}, True),
        ({"distinct": True}, {}, True),
        ({}, {"distinct": True}, False),
    ],
)
def test_tasks_share_an_instance_when_vcpus_memory_and_gpus_suffice(
    first: dict[str, Any], second: dict[str, Any], together: bool
) -> None:
    world = World(max_instances=1)
    world.placed(task(**first))
    assert (world.place(task(**second)) is not None) == together


def test_a_task_that_is_being_stopped_is_no_obstacle_but_keeps_its_share() -> None:
    world, first = World(max_instances=1), task(gpus=1, distinct=True)
    world.placed(first)
    first.desired_status = "STOPPED"
    assert world.place(task(distinct=True))
    assert world.place(task(gpus=1, distinct=True)) is None


@pytest.mark.parametrize("needs", [{"gpus": 2}, {"cpu": 4097}, {"memory": 16_384}])
def test_what_no_instance_of_the_type_can_hold_starts_none_and_waits(needs: dict[str, Any]) -> None:
    world, large = World(), task(**needs)
    world.place(large)
    world.clock.advance(BOOT)
    assert world.place(large) is None
    assert world.instances == 0


def test_an_instance_without_a_task_ends_after_a_quarter_of_an_hour() -> None:
    world, first = World(), task()
    world.placed(first)
    world.clock.advance(IDLE)
    assert world.instances == 1  # The second of the two that came from zero is gone.
    world.capacity.release(first)
    world.clock.advance(IDLE - 300)
    world.placed(second := task())
    world.clock.advance(IDLE)
    assert world.instances == 1
    world.capacity.release(second)
    world.clock.advance(IDLE)
    assert world.instances == 0


def test_an_instance_is_idle_since_its_last_task() -> None:
    world, first, second = World(max_instances=1), task(), task()
    world.placed(first)
    world.capacity.release(first)
    world.clock.advance(IDLE - 300)
    world.placed(second)
    world.capacity.release(second)
    world.clock.advance(IDLE - 300)
    assert world.instances == 1
    world.clock.advance(IDLE)
    assert world.instances == 0


def test_an_instance_that_ec2_takes_back_gets_no_task_and_counts_until_it_is_gone() -> None:
    world = World(max_instances=1)
    first = world.placed(task())
    world.capacity.leave(first.host)
    assert world.place(task()) is None
    world.capacity.end(first.host)
    assert world.placed(task()) is not first


def test_a_task_that_stops_waiting_gives_its_place_back() -> None:
    world, first, second = World(max_instances=1), task(distinct=True), task(distinct=True)
    world.place(first)
    world.place(second)
    world.capacity.release(first)
    world.clock.advance(BOOT)
    assert world.place(second)


def test_the_size_of_an_unknown_type_is_not_guessed() -> None:
    with pytest.raises(UnknownInstanceType, match=r"x9\.huge"):
        size_of("x9.huge")
