"""An ECS with compressed time, whose containers are events that a test sets."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from tools.local_cloud.clock import CompressedClock
from tools.local_cloud.faults import FaultRegistry
from tools.local_cloud.services.ecs import Ecs
from tools.local_cloud.services.ecs.capacity import Group
from tools.local_cloud.services.ecs.launch import Launcher
from tools.local_cloud.services.ecs.sizes import size_of
from tools.local_cloud.services.errors import AwsError

CLUSTER, PROVIDER = "belay", "on-demand"
DISTINCT: dict[str, Any] = {"placementConstraints": [{"type": "distinctInstance"}]}
TIME_SCALE = 600.0


class Container:
    """A process that runs until it is ended."""

    def __init__(self) -> None:
        self.ended = threading.Event()

    def terminate(self) -> None:
        self.ended.set()

    kill = terminate

    def wait(self, timeout_seconds: float | None = None) -> int | None:
        return 0 if self.ended.wait(timeout_seconds) else None


@dataclass
class Containers:
    """A launcher that knows every image."""

    settings: Any = field(default_factory=lambda: type("Settings", (), {"shortest_stop_seconds": 0.0}))
    started: dict[str, Container] = field(default_factory=dict)

    def start(self, task: Any, container: Any, on_line: Callable[[str], None]) -> Container:
        return self.started.setdefault(task.arn, Container())


class Registry:
    """One cluster, and one task definition."""

    def cluster(self, reference: str) -> dict[str, Any]:
        return {"clusterName": reference, "capacityProviders": [PROVIDER]}

    def task_definition(self, reference: str) -> dict[str, Any]:
        container = {"name": "trainer", "image": "trainer:1", "cpu": 0, "memory": 1024}
        return {"family": reference, "taskDefinitionArn": f"arn:{reference}:1", "containerDefinitions": [container]}


class Fleet:
    """ECS, its faults, and how many g6.xlarge its provider may start."""

    def __init__(self, max_instances: int = 4) -> None:
        self.faults, self.containers = FaultRegistry(), Containers()
        self.group = Group(size=size_of("g6.xlarge"), max_instances=max_instances)
        self.ecs = Ecs(
            registry=Registry(),
            launcher=cast(Launcher, self.containers),
            logs=None,
            clock=CompressedClock(time_scale=TIME_SCALE),
            faults=self.faults,
            groups=lambda _provider: self.group,
            labels_of=lambda _text: {},
            announce=lambda _source, _kind, _detail: None,
        )

    def run(self, *, needs: dict[str, Any] | None = None, **more: Any) -> str:
        """Asks for one task; gives its ARN."""
        overrides = {"containerOverrides": [{"name": "trainer", **(needs or {})}]}
        asked = {"cluster": CLUSTER, "taskDefinition": "trainer", "overrides": overrides, **more}
        asked["capacityProviderStrategy"] = [{"capacityProvider": PROVIDER}]
        return str(self.ecs.run_task(asked)["tasks"][0]["taskArn"])

    def refused(self, **more: Any) -> AwsError:
        with pytest.raises(AwsError) as raised:
            self.run(**more)
        return raised.value

    def describe(self, arn: str) -> dict[str, Any]:
        answer = self.ecs.describe_tasks({"cluster": CLUSTER, "tasks": [arn]})
        (task,) = answer["tasks"] or [{"lastStatus": answer["failures"][0]["reason"]}]
        return dict(task)

    def status(self, arn: str) -> str:
        return str(self.describe(arn)["lastStatus"])

    def listed(self) -> list[str]:
        return list(self.ecs.list_tasks({"cluster": CLUSTER})["taskArns"])

    def instances(self) -> list[str]:
        return list(self.ecs.list_container_instances({"cluster": CLUSTER})["containerInstanceArns"])

    def end(self, arn: str) -> None:
        self.containers.started[arn].ended.set()


@pytest.fixture
def fleet() -> Iterator[Fleet]:
    fleet = Fleet()
    yield fleet
    fleet.ecs.close()
