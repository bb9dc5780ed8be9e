"""EventBridge schedules in compressed time."""

from __future__ import annotations

from local_cloud import engines
from local_cloud.clock import CompressedClock

MODULE = "ministack.services.eventbridge"


def install(clock: CompressedClock) -> None:
    """A rate(1 minute) rule fires every compressed minute; cron() keeps to the wall clock."""
    aws_seconds = engines.use(MODULE, "_parse_rate_seconds")

    def real_seconds(expression: str) -> float | None:
        seconds = aws_seconds(expression)
        return None if seconds is None else clock.real_seconds(seconds)

    engines.replace(MODULE, "_parse_rate_seconds", real_seconds)
    engines.replace(MODULE, "_SCHEDULER_TICK_INTERVAL", min(1.0, max(0.1, clock.real_seconds(10))))
