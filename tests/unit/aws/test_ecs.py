"""How much memory the instance of a run's task has for tasks."""

from typing import Any

import pytest

from belay.aws.ecs import Ecs
from belay.contract.task import RUN

MINE, ANOTHERS = "20261121t024455z-3f9a2c1b", "20261121t024455z-00000000"


class Service:
    """Two tasks, each on an instance of its own."""

    def __init__(self, **hosts: str | None) -> None:
        self.hosts = hosts

    def get_paginator(self, name: str) -> "Service":
        assert name == "list_tasks"
        return self

    def paginate(self, **_: Any) -> list[dict[str, Any]]:
        return [{"taskArns": list(self.hosts)}]

    def describe_tasks(self, *, cluster: str, tasks: list[str]) -> dict[str, Any]:
        runs = {"mine": MINE, "anothers": ANOTHERS}
        return {"tasks": [self._task(runs[name], self.hosts[name]) for name in tasks]}

    def _task(self, run: str, host: str | None) -> dict[str, Any]:
        variables = [{"name": RUN, "value": run}]
        placed = {"containerInstanceArn": host} if host else {}
        return {"overrides": {"containerOverrides": [{"environment": variables}]}, **placed}

    def describe_container_instances(self, *, cluster: str, containerInstances: list[str]) -> dict[str, Any]:
        resources = [
            {"name": "CPU", "integerValue": 2048},
            {"name": "MEMORY", "integerValue": len(containerInstances[0])},
        ]
        return {"containerInstances": [{"registeredResources": resources}]}


@pytest.mark.parametrize(("mine", "found"), [("four", 4), (None, None)])
def test_it_is_that_of_the_runs_own_instance_once_it_has_one(mine: str | None, found: int | None) -> None:
    ecs = Ecs(Service(anothers="anothers", mine=mine), cluster="cluster", family="trainer")
    assert ecs.registered_mib(MINE) == found
