"""The task half of ECS: tasks run, stopped, listed, and where they run. Clusters and definitions are the platform's."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Any

from tools.local_cloud.clock import CompressedClock
from tools.local_cloud.faults import FaultRegistry, TaskSeenLate
from tools.local_cloud.services.ecs import limits
from tools.local_cloud.services.ecs.capacity import Capacity, Group
from tools.local_cloud.services.ecs.launch import Launcher
from tools.local_cloud.services.ecs.model import (
    Task,
    Wire,
    container_instance_arn,
    describe_instance,
    instance_id,
    new_task,
)
from tools.local_cloud.services.ecs.placement import Registry, check_overrides, placement
from tools.local_cloud.services.ecs.run import Runner, RunningTask
from tools.local_cloud.services.errors import AwsError
from tools.local_cloud.services.paging import page

_INSTANCE_QUERY = re.compile(r"ec2InstanceId == (i-[0-9a-f]+)")


class Ecs:
    """Every task since the start; stopped ones stay visible."""

    def __init__(
        self,
        *,
        registry: Registry,
        launcher: Launcher,
        logs: Any,
        clock: CompressedClock,
        faults: FaultRegistry,
        groups: Callable[[str], Group],
        labels_of: Callable[[str], dict[str, str]],
        announce: Callable[[str, str, Wire], None],
    ) -> None:
        self._registry = registry
        self._clock = clock
        self._faults = faults
        self._capacity = Capacity(clock=clock)
        self._lock = threading.RLock()
        self._running: dict[str, RunningTask] = {}
        self._started: dict[str, tuple[Wire, list[Task]]] = {}

        def labels(task: Task) -> dict[str, str]:
            # A fault may name a run by the tags of its file system: find the one that the task will mount.
            mounted = labels_of(" ".join(task.environment.values()))
            return {**mounted, **task.environment, **task.tags}

        self._labels = labels
        self._runner = Runner(
            launcher=launcher,
            capacity=self._capacity,
            groups=groups,
            logs=logs,
            clock=clock,
            faults=faults,
            labels=labels,
            announce=announce,
            lock=self._lock,
        )

    def run_task(self, request: Wire) -> Wire:
        limits.check_run_task(request)
        cluster = self._registry.cluster(request.get("cluster", "default"))
        definition = self._registry.task_definition(request.get("taskDefinition", ""))
        launch_type, provider = placement(request, cluster)
        overrides = check_overrides(request, definition)
        token = str(request.get("clientToken", ""))
        with self._lock:
            if known := self._started.get(token):
                return self._started_before(request, *known)
            waiting = [one for one in self._in(cluster["clusterName"]) if one.last_status == "PROVISIONING"]
        if len(waiting) >= limits.MOST_PROVISIONING:
            raise AwsError("ClientException", "The quota of tasks in the PROVISIONING state has been reached.")
        made = [
            new_task(
                request,
                cluster=cluster["clusterName"],
                definition=definition,
                overrides=overrides,
                launch_type=launch_type,
                capacity_provider=provider,
                now=self._clock.now(),
            )
            for _ in range(request.get("count", 1))
        ]
        answer = {"tasks": [task.describe() for task in made], "failures": []}
        with self._lock:
            for task in made:
                self._hide(task)
                self._running[task.id] = RunningTask(task, self._runner)
            if token:
                self._started[token] = (request, made)
        return answer

    @staticmethod
    def _started_before(request: Wire, before: Wire, made: list[Task]) -> Wire:
        """ "A request that was made before succeeds without performing any further action"; with other parameters it
        is a ConflictException (ECS API reference, "Ensuring idempotency")."""
        if request != before:
            raise AwsError("ConflictException", "The client token was used before, with other parameters.")
        return {"tasks": [task.describe() for task in made], "failures": []}

    def stop_task(self, request: Wire) -> Wire:
        cluster = self._registry.cluster(request.get("cluster", "default"))
        running = self._find(request.get("task", ""), cluster["clusterName"])
        if running is None:
            raise AwsError("InvalidParameterException", "The referenced task was not found.")
        running.stop(code="UserInitiated", reason=request.get("reason", "Task stopped by user"))
        with self._lock:
            return {"task": running.task.describe()}

    def describe_tasks(self, request: Wire) -> Wire:
        limits.check_describe(request)
        cluster = self._registry.cluster(request.get("cluster", "default"))
        tasks, failures = [], []
        with_tags = "TAGS" in (request.get("include") or [])
        with self._lock:
            for reference in request["tasks"]:
                if found := self._find(reference, cluster["clusterName"]):
                    tasks.append(found.task.describe(with_tags=with_tags))
                else:
                    failures.append({"arn": reference, "reason": "MISSING"})
        return {"tasks": tasks, "failures": failures}

    def list_tasks(self, request: Wire) -> Wire:
        limits.check_list(request)
        cluster = self._registry.cluster(request.get("cluster", "default"))
        status = request.get("desiredStatus", "RUNNING")
        with self._lock:
            found = [
                task.arn
                for task in self._in(cluster["clusterName"])
                if not task.hidden
                and task.desired_status == status
                and request.get("family") in (None, task.definition["family"])
                and request.get("containerInstance") in (None, task.container_instance_arn)
                and request.get("startedBy") in (None, task.request.get("startedBy"))
            ]
        shown, token = page(found, request, error="InvalidParameterException")
        return {"taskArns": list(shown), **({"nextToken": token} if token else {})}

    def list_container_instances(self, request: Wire) -> Wire:
        """The instances of the cluster. Of the query language, the one question that is asked here."""
        limits.check_list(request)
        cluster = self._registry.cluster(request.get("cluster", "default"))
        asked = _INSTANCE_QUERY.fullmatch(request.get("filter") or "")
        if request.get("filter") and not asked:
            raise AwsError("InvalidParameterException", "filter: only 'ec2InstanceId == ...' is understood here")
        name = cluster["clusterName"]
        hosts = [host for host in self._capacity.hosts(name) if asked is None or asked[1] == instance_id(host)]
        found = [container_instance_arn(name, host) for host in hosts]
        shown, token = page(found, request, error="InvalidParameterException")
        return {"containerInstanceArns": list(shown), **({"nextToken": token} if token else {})}

    def describe_container_instances(self, request: Wire) -> Wire:
        """Which EC2 instance each is, and the room that it registered."""
        name = self._registry.cluster(request.get("cluster", "default"))["clusterName"]
        sizes = {container_instance_arn(name, host): (host, size) for host, size in self._capacity.sizes(name)}
        asked = request["containerInstances"]
        found = [describe_instance(arn, *sizes[arn]) for arn in asked if arn in sizes]
        missing = [{"arn": arn, "reason": "MISSING"} for arn in asked if arn not in sizes]
        return {"containerInstances": found, "failures": missing}

    def tag_resource(self, request: Wire) -> Wire:
        """Of tasks only; the platform has the rest."""
        tags = {tag["key"]: tag.get("value", "") for tag in request.get("tags") or []}
        with self._lock:
            self._running[_id(request["resourceArn"])].task.tags.update(tags)
        return {}

    def has_task(self, arn: str) -> bool:
        return _id(arn) in self._running

    def metadata(self, task_id: str) -> Wire | None:
        """The agent's metadata about a task: the fields that are used here."""
        with self._lock:
            found = self._running.get(task_id)
            return {"TaskARN": found.task.arn, "TaskTags": dict(found.task.tags)} if found else None

    def close(self) -> None:
        """Kills every task."""
        for one in list(self._running.values()):
            one.kill()

    def _hide(self, task: Task) -> None:
        """Under a fault: "the result of an API command ... might not be immediately visible to all subsequent commands"
        (botocore's model, RunTask)."""
        if late := self._faults.take(TaskSeenLate, self._labels(task)):
            task.hidden = True
            self._clock.after(late.seconds, lambda: setattr(task, "hidden", False))

    def _in(self, cluster: str) -> list[Task]:
        return [one.task for one in self._running.values() if one.task.cluster == cluster]

    def _find(self, reference: str, cluster: str) -> RunningTask | None:
        found = self._running.get(_id(reference))
        return found if found and found.task.cluster == cluster and not found.task.hidden else None


def _id(reference: str) -> str:
    return reference.rsplit("/", 1)[-1]
