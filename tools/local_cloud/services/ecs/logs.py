"""The awslogs driver: lines of a container to CloudWatch Logs, in order and at once."""

from __future__ import annotations

import queue
import threading
import time
from typing import Any

from tools.local_cloud.services.ecs.model import Container, Task

BATCH = 500


class LogStream:
    """A thread that ships what has come together; nothing waits for it but `close`."""

    def __init__(self, logs: Any, *, group: str, stream: str) -> None:
        self._logs = logs
        self._where = {"logGroupName": group, "logStreamName": stream}
        self._lines: queue.Queue[dict[str, Any] | None] = queue.Queue()
        logs.create_log_stream(**self._where)
        self._thread = threading.Thread(target=self._ship, name=f"logs of {stream}", daemon=True)
        self._thread.start()

    def write(self, line: str) -> None:
        """One event, stamped now. CloudWatch Logs takes no empty ones."""
        if line:
            self._lines.put({"timestamp": int(time.time() * 1000), "message": line})

    def close(self) -> None:
        """Returns when everything is there."""
        self._lines.put(None)
        self._thread.join(timeout=10)

    def _ship(self) -> None:
        ended = False
        while not ended:
            batch = [self._lines.get()]
            while len(batch) < BATCH and not self._lines.empty():
                batch.append(self._lines.get())
            ended = None in batch
            if events := [event for event in batch if event is not None]:
                self._logs.put_log_events(**self._where, logEvents=events)


def open_stream(logs: Any, task: Task, container: Container) -> LogStream | None:
    """The stream that the container's definition asks for: prefix/container/task."""
    configuration = container.definition.get("logConfiguration") or {}
    options = configuration.get("options") or {}
    if configuration.get("logDriver") != "awslogs":
        return None
    prefix = options.get("awslogs-stream-prefix")
    # Without a prefix the stream has the name that Docker gave the container.
    name = f"{prefix}/{container.name}/{task.id}" if prefix else container.arn.rpartition("/")[2]
    return LogStream(logs, group=options["awslogs-group"], stream=name)
