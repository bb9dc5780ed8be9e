"""The task half of ECS: tasks run, stopped, listed, and where they run. Clusters and definitions are the platform's."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Any

from local_cloud.clock import CompressedClock
from local_cloud.faults import FaultBook
from local_cloud.services.ecs.launch import Launcher
from local_cloud.services.ecs.model import Task, Wire, new_task
from local_cloud.services.ecs.placement import Registry, check_overrides, placement
from local_cloud.services.ecs.run import Delays, Runner, RunningTask
from local_cloud.services.paging import page
from local_cloud.services.refusal import Refused

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
        faults: FaultBook,
        labels_of: Callable[[str], dict[str, str]],
        announce: Callable[[str, str, Wire], None],
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
            announce=announce,
            lock=self._lock,
        )

    def run_task(self, request: Wire) -> Wire:
        cluster = self._registry.cluster(request.get("cluster", "default"))
        definition = self._registry.task_definition(request.get("taskDefinition", ""))
        launch_type, provider = placement(request, cluster)
        overrides = check_overrides(request, definition)
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
        with_tags = "TAGS" in (request.get("include") or [])
        with self._lock:
            for reference in request.get("tasks", []):
                if found := self._find(reference, cluster["clusterName"]):
                    tasks.append(found.task.describe(with_tags=with_tags))
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
                and request.get("containerInstance") in (None, one.task.container_instance_arn)
                and request.get("startedBy") in (None, one.task.request.get("startedBy"))
            ]
        shown, token = page(found, request)
        return {"taskArns": list(shown), **({"nextToken": token} if token else {})}

    def list_container_instances(self, request: Wire) -> Wire:
        """The instances that tasks have now. Of the query language, the one question that is asked here."""
        cluster = self._registry.cluster(request.get("cluster", "default"))
        asked = _INSTANCE_QUERY.fullmatch(request.get("filter") or "")
        if request.get("filter") and not asked:
            raise Refused("InvalidParameterException", "filter: only 'ec2InstanceId == ...' is understood here")
        with self._lock:
            found = [
                arn
                for one in self._running.values()
                if one.task.cluster == cluster["clusterName"]
                and one.task.last_status != "STOPPED"
                and (asked is None or asked[1] == one.task.instance_id)
                and (arn := one.task.container_instance_arn)
            ]
        shown, token = page(found, request)
        return {"containerInstanceArns": list(shown), **({"nextToken": token} if token else {})}

    def tag_resource(self, request: Wire) -> Wire:
        """Of tasks only; the platform has the rest."""
        tags = {tag["key"]: tag.get("value", "") for tag in request.get("tags") or []}
        with self._lock:
            self._running[_id(request["resourceArn"])].task.tags.update(tags)
        return {}

    def has_task(self, arn: str) -> bool:
        return _id(arn) in self._running

    def metadata(self, task_id: str) -> Wire | None:
        """What the agent tells a task about itself: of the endpoint's answer, the part that is asked for here."""
        with self._lock:
            found = self._running.get(task_id)
            return {"TaskARN": found.task.arn, "TaskTags": dict(found.task.tags)} if found else None

    def close(self) -> None:
        """Ends every task at once: the machine is switched off."""
        for one in list(self._running.values()):
            one.kill()

    def _find(self, reference: str, cluster: str) -> RunningTask | None:
        found = self._running.get(_id(reference))
        return found if found and found.task.cluster == cluster else None


def _id(reference: str) -> str:
    return reference.rsplit("/", 1)[-1]
