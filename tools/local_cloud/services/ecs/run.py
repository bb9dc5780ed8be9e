"""The life of one task, on a thread of its own: placed, started, watched, stopped."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ClientError

from tools.local_cloud.clock import CompressedClock
from tools.local_cloud.faults import FaultRegistry, KillTraining, NoCapacity, SpotInterruption
from tools.local_cloud.services.ecs.capacity import Capacity, Group, Instance
from tools.local_cloud.services.ecs.images import ImageMissing
from tools.local_cloud.services.ecs.launch import Launcher
from tools.local_cloud.services.ecs.logs import LogStream, open_stream
from tools.local_cloud.services.ecs.model import Container, Task
from tools.local_cloud.services.ecs.process import ContainerProcess
from tools.local_cloud.services.ecs.sizes import UnknownInstanceType
from tools.local_cloud.services.ecs.steps import step_in

POLL_SECONDS = 0.1
DEFAULT_STOP_SECONDS = 30
SPOT_WARNING_SECONDS = 120


@dataclass(frozen=True, kw_only=True)
class Delays:
    """How long ECS takes, in AWS seconds: an image is pulled, once for an instance; a container starts.

    "Provisioning tasks will wait for capacity for between 10 and 30 minutes before transitioning to stopped" (AWS blog,
    "Deep Dive on Amazon ECS Cluster Auto Scaling"); [?] with which stop code and reason.
    """

    pull: float = 50
    start: float = 10
    provisioning: float = 1800


@dataclass(frozen=True, kw_only=True)
class Runner:
    """What every running task needs; `labels` are the tags that a fault's `where` is compared with."""

    launcher: Launcher
    capacity: Capacity
    groups: Callable[[str], Group]
    logs: Any
    clock: CompressedClock
    faults: FaultRegistry
    labels: Callable[[Task], dict[str, str]]
    announce: Callable[[str, str, dict[str, Any]], None]
    lock: threading.RLock
    delays: Delays = field(default_factory=Delays)


class RunningTask:
    """Moves one task through its states."""

    def __init__(self, task: Task, runner: Runner) -> None:
        self.task = task
        self._runner = runner
        self._stop = threading.Event()
        self._processes: dict[str, ContainerProcess] = {}
        self._streams: list[LogStream] = []
        threading.Thread(target=self._run, name=f"task {task.id}", daemon=True).start()

    def stop(self, *, code: str, reason: str) -> None:
        """Asks for the stop; SIGTERM, and SIGKILL after the container's stop time-out, follow on the task's thread."""
        with self._runner.lock:
            if self.task.desired_status == "STOPPED":
                return
            self.task.desired_status = "STOPPED"
            self.task.stopping_at = self._runner.clock.now()
            self.task.stop_code, self.task.stopped_reason = code, reason
            self.task.version += 1
        self._stop.set()

    def kill(self) -> None:
        """SIGKILL for all its containers."""
        for process in list(self._processes.values()):
            process.kill()

    def _run(self) -> None:
        if self._placed() and self._started():
            self._watch()
        self._finish()

    def _placed(self) -> bool:
        if self.task.launch_type == "FARGATE":
            return self._prepare(pulling=True)
        try:
            group = self._runner.groups(str(self.task.capacity_provider))
        except UnknownInstanceType as unknown:
            self._fail_start(str(unknown))
            return False
        until = time.monotonic() + self._runner.clock.real_seconds(self._runner.delays.provisioning)
        while not (instance := self._place(group)):
            if self._stop.wait(POLL_SECONDS):
                return False
            if time.monotonic() > until:
                self._fail_start(f"RESOURCE: no instance for {self._runner.delays.provisioning:g} s")
                return False
        self.task.host = instance.host
        images = {str(one.definition["image"]) for one in self.task.containers}
        pulling = not images <= instance.images
        instance.images |= images
        return self._prepare(pulling=pulling)

    def _place(self, group: Group) -> Instance | None:
        if self._runner.faults.find(NoCapacity, self._runner.labels(self.task)):
            return None
        return self._runner.capacity.place(self.task, group)

    def _prepare(self, *, pulling: bool) -> bool:
        self._become("PENDING")
        delays = self._runner.delays
        return not self._stop.wait(self._runner.clock.real_seconds(delays.start + (delays.pull if pulling else 0)))

    def _started(self) -> bool:
        for container in self.task.containers:
            try:
                self._start(container)
            except ImageMissing as missing:
                self._fail_start(f"CannotPullContainerError: {missing} was never pushed to this registry")
                return False
            except OSError as error:
                self._fail_start(f"CannotStartContainerError: {error}")
                return False
            except ClientError as error:
                self._fail_start(f"ResourceInitializationError: failed to validate logger args: {error}")
                return False
        with self._runner.lock:
            self.task.started_at = self._runner.clock.now()
        self._become("RUNNING")
        return True

    def _start(self, container: Container) -> None:
        stream = open_stream(self._runner.logs, self.task, container)
        if stream:
            self._streams.append(stream)

        def on_line(line: str) -> None:
            if stream:
                stream.write(line)
            self._inject_faults(line)

        process = self._runner.launcher.start(self.task, container, on_line)
        self._processes[container.name] = process
        container.last_status = "RUNNING"

    def _inject_faults(self, line: str) -> None:
        if self._is_due(KillTraining, line):
            self.kill()
        if self._is_due(SpotInterruption, line):
            self._interrupt_instance()

    def _is_due(self, kind: type[KillTraining] | type[SpotInterruption], line: str) -> bool:
        def reached(fault: KillTraining | SpotInterruption) -> bool:
            step = step_in(line, fault.on)
            return step is not None and step >= fault.at_step

        # Asked without labels first: finding a task's labels for every line of every log would cost too much.
        if not any(isinstance(fault, kind) and reached(fault) for fault in self._runner.faults.waiting()):
            return False
        return self._runner.faults.take(kind, self._runner.labels(self.task), when=reached) is not None

    def _interrupt_instance(self) -> None:
        self._runner.capacity.leave(str(self.task.host))
        detail = {"instance-id": self.task.instance_id, "instance-action": "terminate"}
        self._runner.announce("aws.ec2", "EC2 Spot Instance Interruption Warning", detail)
        threading.Thread(target=self._end_instance, name=f"spot {self.task.id}", daemon=True).start()

    def _end_instance(self) -> None:
        time.sleep(self._real_stop_seconds(SPOT_WARNING_SECONDS))
        self._runner.capacity.end(str(self.task.host))
        if self.task.last_status != "STOPPED":
            self.stop(code="TerminationNotice", reason=f"Host EC2 (instance {self.task.instance_id}) terminated.")
            self.kill()

    def _watch(self) -> None:
        essential = [one for one in self.task.containers if one.definition.get("essential", True)]
        while not self._stop.is_set():
            for container in self.task.containers:
                self._look_at(container)
            if any(one.exit_code is not None for one in essential):
                self.stop(code="EssentialContainerExited", reason="Essential container in task exited")
        self._become("DEACTIVATING")

    def _look_at(self, container: Container) -> None:
        if container.exit_code is None:
            container.exit_code = self._processes[container.name].wait(POLL_SECONDS)

    def _finish(self) -> None:
        self._become("STOPPING")
        left = [one for one in self.task.containers if one.name in self._processes and one.exit_code is None]
        for container in left:
            self._processes[container.name].terminate()
        for container in left:
            process = self._processes[container.name]
            container.exit_code = process.wait(self._stop_seconds(container))
            if container.exit_code is None:
                process.kill()
                container.exit_code = process.wait()
        for stream in self._streams:
            stream.close()
        self._runner.capacity.release(self.task)
        with self._runner.lock:
            self.task.stopped_at = self._runner.clock.now()
            for container in self.task.containers:
                container.last_status = "STOPPED"
        self._become("STOPPED")

    def _stop_seconds(self, container: Container) -> float:
        return self._real_stop_seconds(float(container.definition.get("stopTimeout", DEFAULT_STOP_SECONDS)))

    def _real_stop_seconds(self, asked: float) -> float:
        """Compressed little, because a process saves no faster here than on AWS."""
        shortest = self._runner.launcher.settings.shortest_stop_seconds
        return max(self._runner.clock.real_seconds(asked), min(shortest, asked))

    def _fail_start(self, why: str) -> None:
        self.stop(code="TaskFailedToStart", reason=why)

    def _become(self, status: str) -> None:
        with self._runner.lock:
            self.task.last_status = status
            self.task.version += 1
