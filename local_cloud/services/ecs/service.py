"""The task half of ECS: RunTask, StopTask, DescribeTasks, ListTasks. Clusters and definitions are the platform's."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from typing import Any, Protocol

from local_cloud.clock import CompressedClock
from local_cloud.faults import FaultBook
from local_cloud.services.ecs.launch import Launcher
from local_cloud.services.ecs.model import Container, Task, Wire
from local_cloud.services.ecs.run import Delays, Runner, RunningTask
from local_cloud.services.paging import page
from local_cloud.services.refusal import Refused
from local_cloud.settings import ACCOUNT, REGION

__all__ = ["Delays", "Ecs", "Registry"]


class Registry(Protocol):
    """Clusters and task definitions, wherever they are kept."""

    def cluster(self, reference: str) -> Wire:
        """The cluster of that name or ARN; refuses an unknown one."""

    def task_definition(self, reference: str) -> Wire:
        """The task definition of that family, family:revision or ARN; refuses an unknown one."""


class Ecs:
    """Every task since the start; stopped ones stay visible."""

    def __init__(
        self,
        *,
        registry: Registry,
        launcher: Launcher,
        logs: Any,
        clock: CompressedClock,
        faults: FaultBook,
        labels_of: Callable[[str], dict[str, str]],
        delays: Delays | None = None,
    ) -> None:
        self._registry = registry
        self._clock = clock
        self._lock = threading.RLock()
        self._running: dict[str, RunningTask] = {}

        def labels(task: Task) -> dict[str, str]:
            # A fault names a job by the tags of its file system: look for the one that the task will mount.
            mounted = labels_of(" ".join(task.environment.values()))
            return {**mounted, **task.environment, **task.tags}

        self._runner = Runner(
            launcher=launcher,
            logs=logs,
            clock=clock,
            faults=faults,
            delays=delays or Delays(),
            labels=labels,
            lock=self._lock,
        )

    def run_task(self, request: Wire) -> Wire:
        cluster = self._registry.cluster(request.get("cluster", "default"))
        definition = self._registry.task_definition(request.get("taskDefinition", ""))
        launch_type, provider = placement(request, cluster)
        overrides = check_overrides(request, definition)
        made = []
        for _ in range(request.get("count", 1)):
            name = uuid.uuid4().hex
            containers = [
                Container(
                    definition=one,
                    override=overrides.get(one["name"], {}),
                    arn=f"arn:aws:ecs:{REGION}:{ACCOUNT}:container/{cluster['clusterName']}/{name}/{uuid.uuid4()}",
                )
                for one in definition["containerDefinitions"]
            ]
            task = Task(
                id=name,
                cluster=cluster["clusterName"],
                definition=definition,
                request=request,
                containers=containers,
                created_at=self._clock.now(),
                launch_type=launch_type,
                capacity_provider=provider,
                tags={tag["key"]: tag.get("value", "") for tag in request.get("tags") or []},
            )
            made.append(task)
        answer = {"tasks": [task.describe() for task in made], "failures": []}
        with self._lock:
            for task in made:
                self._running[task.id] = RunningTask(task, self._runner)
        return answer

    def stop_task(self, request: Wire) -> Wire:
        cluster = self._registry.cluster(request.get("cluster", "default"))
        running = self._find(request.get("task", ""), cluster["clusterName"])
        if running is None:
            raise Refused("InvalidParameterException", "The referenced task was not found.")
        running.stop(code="UserInitiated", reason=request.get("reason", "Task stopped by user"))
        with self._lock:
            return {"task": running.task.describe()}

    def describe_tasks(self, request: Wire) -> Wire:
        cluster = self._registry.cluster(request.get("cluster", "default"))
        tasks, failures = [], []
        with self._lock:
            for reference in request.get("tasks", []):
                if found := self._find(reference, cluster["clusterName"]):
                    tasks.append(found.task.describe())
                else:
                    failures.append({"arn": reference, "reason": "MISSING"})
        return {"tasks": tasks, "failures": failures}

    def list_tasks(self, request: Wire) -> Wire:
        cluster = self._registry.cluster(request.get("cluster", "default"))
        status = request.get("desiredStatus", "RUNNING")
        with self._lock:
            found = [
                one.task.arn
                for one in self._running.values()
                if one.task.cluster == cluster["clusterName"]
                and one.task.desired_status == status
                and request.get("family") in (None, one.task.definition["family"])
                and request.get("startedBy") in (None, one.task.request.get("startedBy"))
            ]
        shown, token = page(found, request)
        return {"taskArns": list(shown), **({"nextToken": token} if token else {})}

    def close(self) -> None:
        """Ends every task at once: the machine is switched off."""
        for one in list(self._running.values()):
            one.kill()

    def _find(self, reference: str, cluster: str) -> RunningTask | None:
        found = self._running.get(reference.rsplit("/", 1)[-1])
        return found if found and found.task.cluster == cluster else None


def placement(request: Wire, cluster: Wire) -> tuple[str | None, str | None]:
    """Launch type and capacity provider, decided as ECS does."""
    strategy = request.get("capacityProviderStrategy") or []
    launch_type = request.get("launchType")
    if strategy and launch_type:
        raise Refused(
            "InvalidParameterException",
            "Specifying both a launch type and capacity provider strategy is not supported.",
        )
    if not launch_type:
        strategy = strategy or cluster.get("defaultCapacityProviderStrategy") or []
    if not strategy:
        if launch_type == "FARGATE":
            return "FARGATE", None
        # Nothing scales out for a plain EC2 launch, and this cloud has no instance of its own.
        raise Refused("InvalidParameterException", "No Container Instances were found in your cluster.")
    provider = str(strategy[0]["capacityProvider"])
    if provider not in (cluster.get("capacityProviders") or []):
        raise Refused(
            "InvalidParameterException", f"The capacity provider {provider} is not associated with the cluster."
        )
    return ("FARGATE" if provider.startswith("FARGATE") else "EC2"), provider


def check_overrides(request: Wire, definition: Wire) -> dict[str, Wire]:
    """Overrides by container name; refuses one for a container that is not there."""
    names = {one["name"] for one in definition["containerDefinitions"]}
    overrides = {one.get("name"): one for one in (request.get("overrides") or {}).get("containerOverrides", [])}
    for name in overrides:
        if name not in names:
            raise Refused(
                "InvalidParameterException", f"Override for container named {name} is not a container in the task."
            )
    return overrides
