"""Event lines. Whole lines in one write each, since several processes share the log and the file."""

import json
import math
import os
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

_STDOUT, _STDERR = 1, 2

# Shown as metrics of the job by CloudWatch, which reads them out of the log line itself.
_METRICS = {
    "step": {"loss": "None", "step_seconds": "Seconds"},
    "saved": {"stall_seconds": "Seconds", "durable_seconds": "Seconds", "bytes": "Bytes"},
}

# Training itself writes these, and does not wait for a disk on which a save is being written; another follows soon.
_UNSYNCED = {"step", "evaluated"}


def print_line(line: str) -> None:
    # Past sys.stdout, which a script may have replaced; and not behind its progress bar, which ends no line.
    before = "\n" if os.path.sameopenfile(_STDOUT, _STDERR) else ""
    os.write(_STDOUT, f"{before}{line}\n".encode())


def append(file: Path, line: str) -> None:
    handle = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(handle, f"{line}\n".encode())
    finally:
        os.close(handle)


def sync(file: Path) -> None:
    handle = os.open(file, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class EventLines:
    """The events of one training; their shapes are those of belay/contract/events.py."""

    def __init__(self, *, run: str, node: int, attempt: int, job: str, file: Path) -> None:
        self._always = {"run": run, "node": node, "attempt": attempt}
        self._job = job
        self._file = file
        # Training reports its steps, and a saver beside it its checkpoints: in the same order in both places.
        self._in_order = threading.Lock()

    def write(self, kind: str, **fields: Any) -> None:
        now = datetime.now(UTC)
        at = now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        known = {name: value for name, value in fields.items() if not _is_missing(value)}
        event = {"at": at, **self._always, "kind": kind, **known}
        with self._in_order:
            append(self._file, json.dumps(event))
            print_line(json.dumps({**event, **self._metrics(kind, known, now)}))
        if kind not in _UNSYNCED:
            sync(self._file)

    def _metrics(self, kind: str, known: dict[str, Any], now: datetime) -> dict[str, Any]:
        """CloudWatch's embedded metric format."""
        metrics = [{"Name": name, "Unit": unit} for name, unit in _METRICS.get(kind, {}).items() if name in known]
        if not metrics:
            return {}
        directive = {"Namespace": "Belay", "Dimensions": [["job"]], "Metrics": metrics}
        return {"job": self._job, "_aws": {"Timestamp": int(now.timestamp() * 1000), "CloudWatchMetrics": [directive]}}


def _is_missing(value: Any) -> bool:
    """JSON has no NaN: a loss that is not a number is left out."""
    return value is None or (isinstance(value, float) and not math.isfinite(value))
