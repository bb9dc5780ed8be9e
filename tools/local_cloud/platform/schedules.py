"""EventBridge schedules in compressed time."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from tools.local_cloud import engines
from tools.local_cloud.clock import CompressedClock

MODULE = "ministack.services.eventbridge"
LAMBDAS = "ministack.services.lambda_svc"
# A Lambda takes real time: started more often than this, its turns would overlap as they never do on AWS.
SHORTEST_RATE_SECONDS = 1.0

Execute = Callable[[dict[str, Any], Any, str], dict[str, Any]]


def install(clock: CompressedClock) -> None:
    """A rate(1 minute) rule fires every compressed minute; cron() follows the wall clock."""
    aws_seconds = engines.use(MODULE, "_parse_rate_seconds")

    def real_seconds(expression: str) -> float | None:
        seconds = aws_seconds(expression)
        return None if seconds is None else max(clock.real_seconds(seconds), SHORTEST_RATE_SECONDS)

    engines.replace(MODULE, "_parse_rate_seconds", real_seconds)
    engines.replace(MODULE, "_SCHEDULER_TICK_INTERVAL", SHORTEST_RATE_SECONDS / 4)
    engines.replace(LAMBDAS, "_execute_function_warm", one_at_a_time(engines.use(LAMBDAS, "_execute_function_warm")))


def one_at_a_time(execute: Execute) -> Execute:
    """A scheduled turn of a function is left out while the last one still runs.

    With a minute in a second, a busy machine would start more turns than it can finish.
    """
    at_work: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def execute_in_turn(function: dict[str, Any], event: Any, request_id: str) -> dict[str, Any]:
        if not (isinstance(event, dict) and event.get("detail-type") == "Scheduled Event"):
            return execute(function, event, request_id)
        turn = at_work[(function.get("config") or function).get("FunctionArn", "")]
        if not turn.acquire(blocking=False):
            return {"body": None}
        try:
            return execute(function, event, request_id)
        finally:
            turn.release()

    return execute_in_turn
