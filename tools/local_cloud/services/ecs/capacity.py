"""The instances behind each capacity provider: started for tasks that wait, filled with tasks, ended when idle."""

from __future__ import annotations

import threading
import uuid
from collections import defaultdict
from dataclasses import dataclass, field

from tools.local_cloud.clock import Clock
from tools.local_cloud.services.ecs.model import Task
from tools.local_cloud.services.ecs.sizes import Size

# From zero instances the provider's metric is 200 % whatever the demand: the group starts two (AWS blog, "Deep Dive on
# Amazon ECS Cluster Auto Scaling").
FROM_ZERO = 2


@dataclass(frozen=True, kw_only=True)
class Group:
    """What an Auto Scaling group can start."""

    size: Size
    max_instances: int


@dataclass(frozen=True, kw_only=True)
class Delays:
    """In AWS seconds; usual values. Scale-in waits for 15 minutes of low use (Auto Scaling user guide, target
    tracking)."""

    boot: float = 180
    idle: float = 900


@dataclass(eq=False, kw_only=True)
class Instance:
    """A container instance and the tasks that have their place on it."""

    cluster: str
    size: Size
    host: str = field(default_factory=lambda: uuid.uuid4().hex)
    ready: bool = False
    leaving: bool = False
    tasks: list[Task] = field(default_factory=list)
    images: set[str] = field(default_factory=set)
    times_used: int = 0

    def has_room(self, task: Task) -> bool:
        """By vCPU, memory and GPUs. distinctInstance looks at tasks of the same group that are meant to run: one that
        is being stopped is no obstacle, but keeps its share (ECS developer guide, task placement constraints)."""
        used = sum((one.needs for one in self.tasks), Size())
        fits = not self.leaving and (used + task.needs).fits_in(self.size)
        return fits and not (task.wants_distinct_instance and any(one.is_beside(task) for one in self.tasks))


class Capacity:
    """Which task is where. Tasks beyond what the group may start wait: "if the Auto Scaling group is unable to scale
    out to accommodate the number of tasks run, the tasks will fail to transition beyond the PROVISIONING state" (ECS
    developer guide, "Auto Scaling group capacity providers")."""

    def __init__(self, *, clock: Clock, delays: Delays | None = None) -> None:
        self._clock = clock
        self._delays = delays or Delays()
        self._lock = threading.RLock()
        self._instances: defaultdict[str, list[Instance]] = defaultdict(list)  # by capacity provider

    def place(self, task: Task, group: Group) -> Instance | None:
        """The instance that takes the task now. None: it must wait, and what it needs is being started if it can be."""
        with self._lock:
            instances, held = self._instances[str(task.capacity_provider)], self._instance_of(task)
            if held is None or not held.ready:
                # A place on an instance that boots is left for one that became free.
                held = next((one for one in instances if one.ready and one.has_room(task)), held)
            if held is None:
                held = next((one for one in instances if one.has_room(task)), None)
            if held is None and task.needs.fits_in(group.size):
                held = self._start(task, group, instances)
            if held is None:
                return None
            self._move(task, held)
            return held if held.ready else None

    def release(self, task: Task) -> None:
        """The task has stopped, or waits no longer."""
        with self._lock:
            if held := self._instance_of(task):
                held.tasks.remove(task)
                self._end_when_idle(held)

    def leave(self, host: str) -> None:
        """EC2 takes the instance back: it takes no task any more."""
        with self._lock:
            for one in self._all():
                one.leaving |= one.host == host

    def end(self, host: str) -> None:
        """The instance is gone."""
        with self._lock:
            for instances in self._instances.values():
                instances[:] = [one for one in instances if one.host != host]

    def hosts(self, cluster: str) -> list[str]:
        """The instances that have joined the cluster."""
        with self._lock:
            return [one.host for one in self._all() if one.ready and one.cluster == cluster]

    def sizes(self, cluster: str) -> list[tuple[str, Size]]:
        """The same, with the room that each registered."""
        with self._lock:
            return [(one.host, one.size) for one in self._all() if one.ready and one.cluster == cluster]

    def _start(self, task: Task, group: Group, instances: list[Instance]) -> Instance | None:
        wanted = 1 if instances else FROM_ZERO
        new = [
            Instance(cluster=task.cluster, size=group.size)
            for _ in range(min(wanted, group.max_instances - len(instances)))
        ]
        instances += new
        for one in new:
            self._clock.after(self._delays.boot, lambda booted=one: self._join(booted))  # type: ignore[misc]
        return new[0] if new else None

    def _join(self, booted: Instance) -> None:
        with self._lock:
            booted.ready = True
            self._end_when_idle(booted)

    def _end_when_idle(self, instance: Instance) -> None:
        if instance.tasks:
            return
        used = instance.times_used

        def end() -> None:
            with self._lock:
                if not instance.tasks and instance.times_used == used:
                    self.end(instance.host)

        self._clock.after(self._delays.idle, end)

    def _move(self, task: Task, to: Instance) -> None:
        if (held := self._instance_of(task)) is to:
            return
        if held:
            held.tasks.remove(task)
        to.tasks.append(task)
        to.times_used += 1

    def _instance_of(self, task: Task) -> Instance | None:
        return next((one for one in self._all() if task in one.tasks), None)

    def _all(self) -> list[Instance]:
        return [one for instances in self._instances.values() for one in instances]
