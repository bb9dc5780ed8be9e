"""Calls beyond AWS's rates are refused, and what Belay reads with goes on without losing anything."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from belay.aws.log_group import CallRate, LogGroup
from belay.aws.run_logs import Reading
from belay.contract.events import Saved, Started
from belay.contract.pump_state import PumpState
from belay.contract.run import run_id
from tools.local_cloud.cloud import LocalCloud
from tools.local_cloud.services.throttling import TABLE, Throttles

GROUP = "/belay/trainer"
RUNS, SAVES = 30, 40


class Seconds:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_bucket_gives_its_burst_and_then_what_flows_in() -> None:
    seconds = Seconds()
    throttles = Throttles(seconds)

    def allowed(action: str, *, of: int) -> int:
        return sum(throttles.take(action) is None for _ in range(of))

    # The two share one bucket; another action has its own.
    assert allowed("ecs:DescribeTasks", of=60) + allowed("ecs:ListTasks", of=60) == 100
    assert allowed("ecs:RunTask", of=60) == 60
    seconds.now += 2
    assert allowed("ecs:ListTasks", of=60) == 40
    seconds.now += 3600
    assert allowed("ecs:ListTasks", of=200) == 100


@pytest.mark.parametrize(
    ("action", "burst", "per_second"),
    [
        ("states:StartExecution", 1300, 300),
        ("states:DescribeExecution", 300, 15),
        ("states:ListExecutions", 200, 5),
        ("states:GetExecutionHistory", 400, 20),
    ],
)
def test_step_functions_gives_each_action_a_bucket(action: str, burst: int, per_second: int) -> None:
    seconds = Seconds()
    throttles = Throttles(seconds)
    allowed = [sum(throttles.take(action) is None for _ in range(2000))]
    seconds.now += 1
    allowed.append(sum(throttles.take(action) is None for _ in range(2000)))
    assert allowed == [burst, per_second]


def test_no_action_stands_twice_in_the_table() -> None:
    actions = [action for one in TABLE for action in one.actions]
    assert len(actions) == len(set(actions))


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCloud]:
    """In real time, so that a test can be faster than AWS allows."""
    with LocalCloud(state_dir=tmp_path_factory.mktemp("slow"), time_scale=1) as cloud:
        yield cloud


def client(cloud: LocalCloud, service: str, **retries: Any) -> Any:
    words = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}  # pragma: allowlist secret
    config = Config(retries=retries, max_pool_connections=64)
    where = {"region_name": "us-east-1", "endpoint_url": cloud.settings.endpoint}
    return boto3.client(service, config=config, **where, **words)


def refusals(ask: Any, *, times: int) -> list[ClientError]:
    found = []
    for _ in range(times):
        try:
            ask()
        except ClientError as error:
            found.append(error)
    return found


@pytest.mark.parametrize(
    ("service", "operation", "asked", "burst", "code", "status"),
    [
        ("ssm", "get_parameter", {"Name": "/aws/none"}, 40, "ThrottlingException", 400),
        ("ecs", "list_clusters", {}, 50, "ThrottlingException", 400),
        ("ec2", "describe_instances", {}, 100, "RequestLimitExceeded", 503),
    ],
)
def test_each_service_refuses_in_its_own_words(
    slow: LocalCloud, service: str, operation: str, asked: dict[str, Any], burst: int, code: str, status: int
) -> None:
    once = client(slow, service, total_max_attempts=1)
    found = list[ClientError]()
    began = time.monotonic()
    while not found:
        found = [
            one
            for one in refusals(lambda: getattr(once, operation)(**asked), times=burst)
            if one.response["Error"]["Code"] != "ParameterNotFound"
        ]
        assert time.monotonic() - began < 60
    assert found[0].response["Error"]["Code"] == code
    assert found[0].response["ResponseMetadata"]["HTTPStatusCode"] == status


def test_the_pump_reads_thirty_runs_beyond_the_rate_and_loses_nothing(slow: LocalCloud) -> None:
    """Each run by itself and all at once, at four times the rate, by a client that repeats as those of the Lambdas."""
    logs, now = slow.client("logs"), datetime.now(UTC).replace(microsecond=0)
    began = now - timedelta(minutes=30)
    runs = [run_id(f"arn:{number}", began) for number in range(RUNS)]
    logs.create_log_group(logGroupName=GROUP)
    for run in runs:
        _write(logs, run, began)

    pumps = client(slow, "logs", mode="standard", max_attempts=5)
    statuses = _statuses(pumps)
    group = LogGroup(pumps, GROUP, CallRate(calls_per_second=100, seconds=240))
    readings = [Reading(group, {run: PumpState(run=run, searched_to=began)}, now) for run in runs]
    with ThreadPoolExecutor(RUNS) as pool:
        list(pool.map(lambda reading: reading.read(), readings))

    assert statuses.count(400) > 0
    for run, reading in zip(runs, readings, strict=True):
        assert reading.failed == {}
        assert set(reading.states[run].current_saves) == set(range(1, SAVES + 1))


def _write(logs: Any, run: str, began: datetime) -> None:
    stream = f"run/trainer/{run}"
    logs.create_log_stream(logGroupName=GROUP, logStreamName=stream)
    said: list[Any] = [Started(at=began, run=run, attempt=1, job="job", processes=1)]
    for step in range(1, SAVES + 1):
        at = began + timedelta(seconds=30 * step)
        sizes = {"files": 1, "bytes": 1, "stall_seconds": 0, "durable_seconds": 0}
        save = {"step": step, "path": f"checkpoint-{step}", "manifest_crc64nvme": str(step), **sizes}
        said.append(Saved.model_validate({"at": at, "run": run, "attempt": 1, **save}))
    events = [{"timestamp": int(one.at.timestamp() * 1000), "message": one.line()} for one in said]
    logs.put_log_events(logGroupName=GROUP, logStreamName=stream, logEvents=events)


def _statuses(made: Any) -> list[int]:
    """Of every answer that this client gets, retries included."""
    seen: list[int] = []
    made.meta.events.register("needs-retry.*", lambda response, **_: seen.append(response[0].status_code))
    return seen
