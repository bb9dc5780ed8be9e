"""How often an account may call each action in a Region: token buckets at AWS's documented rates, in AWS seconds.

FSx documents no rates, so none is enforced for it [?]. Those of S3, SNS and Lambda are far from what Belay needs, and
are not enforced either.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Throttle:
    """Actions that share one bucket. The rates are those of us-east-1, the Region of this cloud."""

    actions: frozenset[str]  # as IAM names them
    burst: float
    per_second: float
    error: str = "ThrottlingException"
    message: str = "Rate exceeded"
    status: int = 400


def _of(service: str, *actions: str, burst: float, per_second: float) -> Throttle:
    return Throttle(actions=frozenset(f"{service}:{one}" for one in actions), burst=burst, per_second=per_second)


def _ec2(action: str) -> Throttle:
    """EC2 API guide, "Request throttling for the Amazon EC2 API": each action that only reads has its own bucket."""
    return Throttle(
        actions=frozenset({f"ec2:{action}"}),
        burst=100,
        per_second=20,
        error="RequestLimitExceeded",
        message="Request limit exceeded.",
        status=503,
    )


TABLE = (
    # CloudWatch Logs user guide, "CloudWatch Logs quotas": 25 a second here, 10 in most Regions, 5 in some; no burst.
    _of("logs", "FilterLogEvents", burst=25, per_second=25),
    # ECS API reference, "Request throttling for the Amazon ECS API": cluster resource modify and read actions, cluster
    # read actions, capacity provider read actions, tag modify actions.
    _of("ecs", "RunTask", "StopTask", "StartTask", "ExecuteCommand", burst=100, per_second=40),
    _of(
        "ecs", "DescribeTasks", "ListTasks", "DescribeContainerInstances", "ListContainerInstances",
        burst=100, per_second=20,
    ),
    _of("ecs", "DescribeClusters", "ListClusters", burst=50, per_second=20),
    _of("ecs", "DescribeCapacityProviders", burst=50, per_second=20),
    _of("ecs", "TagResource", "UntagResource", burst=20, per_second=10),
    # Step Functions guide, "Quotas related to API action throttling".
    _of("states", "StartExecution", burst=1300, per_second=300),
    _of("states", "StopExecution", burst=1000, per_second=200),
    _of("states", "DescribeExecution", burst=300, per_second=15),
    _of("states", "ListExecutions", burst=200, per_second=5),
    _of("states", "GetExecutionHistory", burst=400, per_second=20),
    _of("states", "DescribeStateMachine", burst=200, per_second=20),
    # AWS General Reference, "AWS Systems Manager endpoints and quotas": default throughput of Parameter Store.
    _of("ssm", "GetParameter", "GetParameters", "GetParametersByPath", burst=40, per_second=40),
    *(_ec2(action) for action in ("DescribeInstances", "DescribeInstanceTypes", "DescribeInstanceTypeOfferings")),
)  # fmt: skip


class Throttles:
    """Counts calls. `now` is in AWS seconds."""

    def __init__(self, now: Callable[[], float], table: Iterable[Throttle] = TABLE) -> None:
        self._now, self._lock = now, threading.Lock()
        self._buckets = [_Bucket(one, tokens=one.burst, at=now()) for one in table]
        self._by_action = {action: one for one in self._buckets for action in one.throttle.actions}

    def take(self, action: str) -> Throttle | None:
        """Counts this call; or what refuses it."""
        bucket = self._by_action.get(action)
        if bucket is None:
            return None
        with self._lock:
            return None if bucket.take(self._now()) else bucket.throttle


@dataclass
class _Bucket:
    throttle: Throttle
    tokens: float
    at: float

    def take(self, now: float) -> bool:
        self.tokens = min(self.throttle.burst, self.tokens + (now - self.at) * self.throttle.per_second)
        self.at = now
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True
