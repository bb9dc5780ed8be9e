"""What the pump asks of AWS, in memory: any number of living runs of any age; each call's latency is slept or counted.

Nothing here is AWS. The rules of FilterLogEvents are documented (10,000 events and 1 MB a page, pages that are empty,
5 to 25 calls a second); latencies, and how much of a log one call searches, are not, and are assumed below.
"""

import re
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from io import BytesIO
from types import SimpleNamespace
from typing import Any

from botocore.exceptions import ClientError

from belay.contract.events import Removed, Saved, Started
from belay.contract.paths import MANIFEST, RunPrefix
from belay.contract.run import run_id
from tools.proofs.fakes.world import checksum, manifest_of

GROUP = "/belay/trainer"
BUCKET = "belay-runs"
CALLS_PER_SECOND = 10
SAVE_EVERY = timedelta(minutes=10)
# Assumed: one call of FilterLogEvents searches so much, in so long.
_SEARCHED_BYTES = 10_000_000
_LOG_SECONDS, _LOG_SECONDS_A_MB = 0.15, 0.02
_LINE_BYTES = 250
_FSX_SECONDS, _S3_SECONDS, _S3_BYTES_A_SECOND = 0.1, 0.02, 60e6
_FILES = {f"part-{number}": b"%d" % number for number in range(8)}


def refused(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": code}}, "Operation")


@dataclass(frozen=True)
class Run:
    """It says a line each second and saves each ten minutes; the save before is removed then."""

    number: int
    began_at: datetime

    @cached_property
    def run(self) -> str:
        return run_id(f"arn:{self.number}", self.began_at)

    @cached_property
    def stream(self) -> str:
        return f"run/trainer/{self.number:032x}"

    @cached_property
    def prefix(self) -> RunPrefix:
        return RunPrefix(f"job-{self.number}", self.run)

    def save_at(self, step: int) -> datetime:
        # Not all at once.
        return self.began_at + SAVE_EVERY * step + timedelta(seconds=60 * (self.number % 10))

    def steps(self, since: datetime, until: datetime) -> range:
        first = -(-(since - self.save_at(0)) // SAVE_EVERY)
        return range(max(1, first), max(1, (until - self.save_at(0)) // SAVE_EVERY + 1))

    def manifest(self, step: int) -> bytes:
        return manifest_of(step, _FILES, self.save_at(step))

    def lines(self, since: datetime, until: datetime, *, saves: bool) -> Iterator[tuple[datetime, str, str]]:
        if since <= self.began_at <= until:
            said = Started(at=self.began_at, run=self.run, attempt=1, job=self.prefix.job, processes=1)
            yield self.began_at, "started", said.line()
        for step in self.steps(since, until) if saves else ():
            at = self.save_at(step)
            saved = Saved(
                at=at,
                run=self.run,
                attempt=1,
                step=step,
                path="p",
                files=len(_FILES),
                bytes=1,
                stall_seconds=0.0,
                durable_seconds=1.0,
                manifest_crc64nvme=checksum(self.manifest(step)),
            )
            yield at, "saved", saved.line()
            if step > 3:
                yield at, "removed", Removed(at=at, run=self.run, attempt=1, step=step - 3).line()


@dataclass
class Aws:
    """`sleep` is time.sleep, or counts what would be slept."""

    runs: list[Run]
    now: datetime
    sleep: Callable[[float], None] = time.sleep
    calls: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    throttled: int = 0
    objects: dict[str, bytes] = field(default_factory=dict)
    exporting: dict[str, list[str]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _asked: deque[float] = field(default_factory=deque)

    exceptions = SimpleNamespace(
        FileSystemNotFound=type("FileSystemNotFound", (ClientError,), {}),
        DataRepositoryTaskExecuting=type("DataRepositoryTaskExecuting", (ClientError,), {}),
    )

    def client(self, service: str) -> "Aws":
        return self

    def get_paginator(self, operation: str) -> Any:
        return SimpleNamespace(paginate=lambda **asked: self._pages(operation, asked))

    def _pages(self, operation: str, asked: dict[str, Any]) -> Iterator[dict[str, Any]]:
        while True:
            page = getattr(self, operation)(**asked)
            yield page
            if not page.get("nextToken"):
                return
            asked = asked | {"nextToken": page["nextToken"]}

    def _called(self, operation: str, seconds: float) -> None:
        with self._lock:
            self.calls[operation] += 1
        self.sleep(seconds)

    # ---- CloudWatch Logs

    def filter_log_events(self, **asked: Any) -> dict[str, Any]:
        self._limit()
        named = asked.get("logStreamNames")
        wanted = None if named is None else set(named)
        runs = [run for run in self.runs if wanted is None or run.stream in wanted]
        until = min(_moment(asked.get("endTime", 10**14)), self.now)
        since = _moment(int(asked.get("nextToken", asked.get("startTime", 0))))
        since = max(since, min((run.began_at for run in runs), default=until))
        bytes_a_second = _LINE_BYTES * max(len(runs), 1)
        searched_to = min(since + timedelta(seconds=_SEARCHED_BYTES / bytes_a_second), until)
        searched_bytes = max((searched_to - since).total_seconds(), 0) * bytes_a_second
        self._called("FilterLogEvents", _LOG_SECONDS + _LOG_SECONDS_A_MB * searched_bytes / 1e6)
        pattern = asked["filterPattern"]
        one_run = re.search(r'\$\.run = "([^"]+)"', pattern)
        events = [
            {"timestamp": _ms(at), "logStreamName": run.stream, "message": text}
            for run in runs
            for at, kind, text in run.lines(since, searched_to, saves='"saved"' in pattern)
            if kind == "started" or one_run is None or run.run == one_run[1]
        ]
        assert len(events) <= 10_000, "a page has no more"
        more = {"nextToken": str(_ms(searched_to) + 1)} if searched_to < until else {}
        return {"events": sorted(events, key=lambda event: event["timestamp"]), **more}

    def _limit(self) -> None:
        if self.sleep is not time.sleep:
            return
        with self._lock:
            moment = time.monotonic()
            while self._asked and self._asked[0] <= moment - 1:
                self._asked.popleft()
            if len(self._asked) >= CALLS_PER_SECOND:
                self.throttled += 1
                raise refused("ThrottlingException")
            self._asked.append(moment)

    # ---- FSx

    def describe_file_systems(self, **_: Any) -> dict[str, Any]:
        self._called("DescribeFileSystems", _FSX_SECONDS)
        return {"FileSystems": [_file_system(run) for run in self.runs]}

    def describe_data_repository_tasks(self, **_: Any) -> dict[str, Any]:
        self._called("DescribeDataRepositoryTasks", _FSX_SECONDS)
        return {"DataRepositoryTasks": []}

    def create_data_repository_task(self, FileSystemId: str, **_: Any) -> dict[str, Any]:
        """The export is there by the next round."""
        self._called("CreateDataRepositoryTask", _FSX_SECONDS)
        run = self.runs[int(FileSystemId.removeprefix("fs-"), 16)]
        for step in run.steps(self.now - 2 * SAVE_EVERY, self.now):
            folder = run.prefix.checkpoint(step)
            self.objects |= {f"{folder}{name}": body for name, body in _FILES.items()}
            self.objects[f"{folder}{MANIFEST}"] = run.manifest(step)
        return {"DataRepositoryTask": {"TaskId": "task-0123456789abcdef0"}}

    # ---- S3

    def get_object(self, Key: str, IfNoneMatch: str = "", **_: Any) -> dict[str, Any]:
        body = self.objects.get(Key)
        etag = None if body is None else etag_of(body)
        unchanged = etag is not None and etag == IfNoneMatch
        self._called("GetObject", _S3_SECONDS + (0 if unchanged or not body else len(body) / _S3_BYTES_A_SECOND))
        if body is None:
            raise refused("NoSuchKey")
        if unchanged:
            raise refused("304")
        return {"Body": BytesIO(body), "ETag": etag}

    def put_object(self, Key: str, Body: bytes, IfMatch: str = "", IfNoneMatch: str = "", **_: Any) -> dict[str, Any]:
        self._called("PutObject", 2 * _S3_SECONDS + len(Body) / _S3_BYTES_A_SECOND)
        before = self.objects.get(Key)
        if (IfMatch and (before is None or etag_of(before) != IfMatch)) or (IfNoneMatch and before is not None):
            raise refused("PreconditionFailed")
        self.objects[Key] = Body
        return {"ETag": etag_of(Body)}

    def head_object(self, Key: str, **_: Any) -> dict[str, Any]:
        self._called("HeadObject", _S3_SECONDS)
        body = self.objects[Key]
        return {"ContentLength": len(body), "ChecksumType": "FULL_OBJECT", "ChecksumCRC64NVME": checksum(body)}

    def list_objects_v2(self, Prefix: str, **_: Any) -> dict[str, Any]:
        self._called("ListObjectsV2", _S3_SECONDS)
        names = [f"{Prefix}{name}" for name in (*_FILES, MANIFEST)]
        found = [name for name in names if name in self.objects]
        return {"Contents": [{"Key": key, "Size": len(self.objects[key]), "LastModified": self.now} for key in found]}

    # ---- SNS

    def publish(self, **_: Any) -> dict[str, Any]:
        self._called("Publish", _S3_SECONDS)
        return {}


def _file_system(run: Run) -> dict[str, Any]:
    tags = {"deployment": "belay", "state": "in-use", "job": run.prefix.job, "run": run.run}
    return {
        "FileSystemId": f"fs-{run.number:017x}",
        "FileSystemType": "LUSTRE",
        "Lifecycle": "AVAILABLE",
        "ResourceARN": f"arn:aws:fsx:us-east-1:123456789012:file-system/fs-{run.number:017x}",
        "CreationTime": run.began_at,
        "Tags": [{"Key": f"belay:{key}", "Value": value} for key, value in tags.items()],
    }


def etag_of(body: bytes) -> str:
    return f'"{hash(body):x}"'


def _ms(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


def _moment(milliseconds: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)
