"""EventBridge schedules in compressed time."""

from __future__ import annotations

from local_cloud import engines
from local_cloud.clock import CompressedClock

MODULE = "ministack.services.eventbridge"
# What a rule starts takes real time: fired more often than this, it would meet itself as it never does on AWS.
SHORTEST_RATE_SECONDS = 1.0


def install(clock: CompressedClock) -> None:
    """A rate(1 minute) rule fires every compressed minute; cron() keeps to the wall clock."""
    aws_seconds = engines.use(MODULE, "_parse_rate_seconds")

    def real_seconds(expression: str) -> float | None:
        seconds = aws_seconds(expression)
        return None if seconds is None else max(clock.real_seconds(seconds), SHORTEST_RATE_SECONDS)

    engines.replace(MODULE, "_parse_rate_seconds", real_seconds)
    engines.replace(MODULE, "_SCHEDULER_TICK_INTERVAL", SHORTEST_RATE_SECONDS / 4)
