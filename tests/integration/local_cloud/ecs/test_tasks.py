"""RunTask and what looks at its tasks: limits of a request, waiting for a place, and what is seen late."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.local_cloud.waiting import eventually
from tools.local_cloud.faults import TaskSeenLate
from tools.local_cloud.services.errors import AwsError

from .conftest import CLUSTER, DISTINCT, Fleet


def test_tasks_beyond_max_instances_stay_provisioning_until_one_ends() -> None:
    fleet = Fleet(max_instances=1)
    first = fleet.run(**DISTINCT)
    eventually(lambda: fleet.status(first) == "RUNNING")
    second = fleet.run(**DISTINCT)
    assert not eventually_starts(fleet, second)
    fleet.end(first)
    eventually(lambda: fleet.status(second) == "RUNNING")
    assert fleet.describe(second)["containerInstanceArn"] == fleet.describe(first)["containerInstanceArn"]
    fleet.ecs.close()


def eventually_starts(fleet: Fleet, task: str) -> bool:
    try:
        eventually(lambda: fleet.status(task) != "PROVISIONING", seconds=1)
    except AssertionError:
        return False
    return True


def test_a_task_gets_the_gpus_of_its_instance_or_waits(fleet: Fleet) -> None:
    two = {"resourceRequirements": [{"type": "GPU", "value": "2"}]}
    assert not eventually_starts(fleet, fleet.run(needs=two))
    assert fleet.instances() == []


def test_a_task_that_no_instance_took_for_half_an_hour_is_stopped(fleet: Fleet) -> None:
    task = fleet.run(needs={"memory": 100_000})
    eventually(lambda: fleet.status(task) == "STOPPED")
    stopped = fleet.describe(task)
    assert stopped["stopCode"] == "TaskFailedToStart"
    assert "containerInstanceArn" not in stopped


def test_a_task_that_waits_can_be_stopped(fleet: Fleet) -> None:
    task = fleet.run(needs={"memory": 100_000})
    fleet.ecs.stop_task({"cluster": CLUSTER, "task": task, "reason": "enough"})
    eventually(lambda: fleet.status(task) == "STOPPED")
    assert "containerInstanceArn" not in fleet.describe(task)


def test_the_second_instance_that_came_from_zero_is_listed_too(fleet: Fleet) -> None:
    task = fleet.run()
    eventually(lambda: fleet.status(task) == "RUNNING")
    assert fleet.describe(task)["containerInstanceArn"] in fleet.instances()
    assert len(fleet.instances()) == 2


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"needs": {"environment": [{"name": "A", "value": "x" * 8192}]}}, "at most 8192"),
        ({"count": 0}, "Count"),
        ({"count": 11}, "Count"),
        ({"clientToken": "t" * 65}, "client token"),
        ({"clientToken": "a token"}, "client token"),
        ({"startedBy": "s" * 129}, "startedBy"),
        ({"tags": [{"key": f"k{one}", "value": ""} for one in range(51)]}, "at most 50 tags"),
        ({"tags": [{"key": "a"}, {"key": "a"}]}, "key of its own"),
        ({"tags": [{"key": "AWS:a"}]}, "aws:"),
    ],
)
def test_a_request_that_asks_too_much_is_refused(fleet: Fleet, more: dict[str, Any], why: str) -> None:
    refused = fleet.refused(**more)
    assert (refused.code, why in refused.message) == ("InvalidParameterException", True)


@pytest.mark.parametrize(
    ("operation", "request_"),
    [
        ("list_tasks", {"maxResults": 0}),
        ("list_tasks", {"maxResults": 101}),
        ("list_tasks", {"nextToken": "no token"}),
        ("list_container_instances", {"maxResults": 101}),
        ("describe_tasks", {"tasks": []}),
        ("describe_tasks", {"tasks": ["one"] * 101}),
    ],
)
def test_a_list_or_description_that_asks_too_much_is_refused(
    fleet: Fleet, operation: str, request_: dict[str, Any]
) -> None:
    with pytest.raises(AwsError) as raised:
        getattr(fleet.ecs, operation)({"cluster": CLUSTER, **request_})
    assert raised.value.code == "InvalidParameterException"


def test_the_tasks_that_wait_for_a_place_have_a_quota(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.local_cloud.services.ecs.limits.MOST_PROVISIONING", 2)
    large = {"memory": 100_000}
    fleet.run(needs=large)
    fleet.run(needs=large)
    assert fleet.refused(needs=large).code == "ClientException"


def test_under_a_fault_a_new_task_is_seen_late(fleet: Fleet) -> None:
    # Two seconds of real time.
    fleet.faults.add(TaskSeenLate(seconds=4000, times=1))
    task = fleet.run()
    assert fleet.listed() == []
    assert fleet.status(task) == "MISSING"
    with pytest.raises(AwsError, match="not found"):
        fleet.ecs.stop_task({"cluster": CLUSTER, "task": task})
    seen = fleet.run()
    assert fleet.listed() == [seen]
    eventually(lambda: set(fleet.listed()) == {task, seen})
    assert fleet.status(task) in ("PROVISIONING", "PENDING", "RUNNING")


def test_an_instance_says_how_much_it_registered(fleet: Fleet) -> None:
    fleet.run()
    [arn, *_] = eventually(fleet.instances)
    asked = {"cluster": CLUSTER, "containerInstances": [arn, "arn:gone"]}
    answer = fleet.ecs.describe_container_instances(asked)
    [found] = answer["containerInstances"]
    registered = {one["name"]: one["integerValue"] for one in found["registeredResources"]}
    assert registered == {"CPU": fleet.group.size.cpu_units, "MEMORY": fleet.group.size.memory_mib}
    assert [one["reason"] for one in answer["failures"]] == ["MISSING"]
