"""FilterLogEvents on one log group, by several threads, no faster than the Region allows."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from botocore.exceptions import ClientError

from belay.aws.clients import error_code

# What one call may name.
MOST_STREAMS = 100
_THROTTLED = {"ThrottlingException", "TooManyRequestsException", "LimitExceededException"}
_PAUSE_SECONDS = 2.0


class OutOfTime(Exception):
    """The round's time for reading is over; the next round goes on from the cursors."""


class CallRate:
    """So many calls a second by all threads together, for so many seconds."""

    def __init__(
        self,
        *,
        calls_per_second: float,
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._gap_seconds = 1 / calls_per_second
        self._clock, self._sleep = clock, sleep
        self._lock = threading.Lock()
        self._next = clock()
        self._end = self._next + seconds

    def wait(self) -> None:
        """For this thread's turn."""
        with self._lock:
            turn = max(self._next, self._clock())
            if turn > self._end:
                raise OutOfTime
            self._next = turn + self._gap_seconds
        self._sleep(max(0.0, turn - self._clock()))

    def pause(self, seconds: float) -> None:
        """Nobody's turn comes sooner: the limit is the account's, and others call too."""
        with self._lock:
            self._next = max(self._next, self._clock() + seconds)


@dataclass(frozen=True)
class LogEvent:
    stream: str
    at: datetime
    text: str


@dataclass(frozen=True)
class LogGroup:
    logs: Any
    name: str
    rate: CallRate

    def pages(
        self,
        pattern: str,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        streams: Sequence[str] | None = None,
    ) -> Iterator[list[LogEvent]]:
        asked: dict[str, Any] = {"logGroupName": self.name, "filterPattern": pattern}
        # Both ends belong to the range; an end is rounded up so that no line is between two ranges.
        asked["startTime"] = int(since.timestamp() * 1000) if since else 0
        if until:
            asked["endTime"] = int(until.timestamp() * 1000) + 1
        if streams is not None:
            asked["logStreamNames"] = list(streams)
        while True:
            page = self._page(asked)
            yield [_event(raw) for raw in page["events"]]
            # An empty page is no end.
            if not page.get("nextToken"):
                return
            asked["nextToken"] = page["nextToken"]

    def _page(self, asked: dict[str, Any]) -> dict[str, Any]:
        pause_seconds = _PAUSE_SECONDS
        while True:
            self.rate.wait()
            try:
                page: dict[str, Any] = self.logs.filter_log_events(**asked)
            except ClientError as error:
                if error_code(error) not in _THROTTLED:
                    raise
                self.rate.pause(pause_seconds)
                pause_seconds *= 2
            else:
                return page


def _event(raw: dict[str, Any]) -> LogEvent:
    return LogEvent(raw["logStreamName"], datetime.fromtimestamp(raw["timestamp"] / 1000, UTC), raw["message"])
