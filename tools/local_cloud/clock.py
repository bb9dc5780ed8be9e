"""The clock of the local cloud: waiting for AWS is compressed, what really runs is not."""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from collections.abc import Callable
from typing import Protocol

Action = Callable[[], None]


class Clock(Protocol):
    """The time, and callbacks. AWS seconds are those that a customer would wait on AWS."""

    def now(self) -> float:
        """Seconds since the epoch, as AWS would stamp them."""

    def after(self, aws_seconds: float, action: Action) -> None:
        """Runs the action once that many AWS seconds have passed."""


class CompressedClock:
    """Wall time for stamps, and AWS seconds that pass `time_scale` times faster than real ones."""

    def __init__(self, *, time_scale: float) -> None:
        if time_scale <= 0:
            raise ValueError(
                f"time_scale: {time_scale} is not a speed; use 1 for real time or 60 for a minute a second"
            )
        self.time_scale = time_scale

    def now(self) -> float:
        return time.time()

    def real_seconds(self, aws_seconds: float) -> float:
        """How long a wait of that many AWS seconds really takes here."""
        return aws_seconds / self.time_scale

    def aws_seconds(self) -> float:
        """That have passed since some moment in the past."""
        return time.monotonic() * self.time_scale

    def sleep(self, aws_seconds: float) -> None:
        """Blocks the calling thread for a compressed wait."""
        time.sleep(self.real_seconds(aws_seconds))

    def after(self, aws_seconds: float, action: Action) -> None:
        timer = threading.Timer(self.real_seconds(aws_seconds), action)
        timer.daemon = True
        timer.start()


class VirtualClock:
    """A clock for tests: only `advance` moves its time, and runs what is due, in order."""

    def __init__(self, *, start: float = 1_800_000_000.0) -> None:
        self._now = start
        self._due: list[tuple[float, int, Action]] = []
        self._order = itertools.count()

    def now(self) -> float:
        return self._now

    def after(self, aws_seconds: float, action: Action) -> None:
        heapq.heappush(self._due, (self._now + aws_seconds, next(self._order), action))

    def advance(self, aws_seconds: float) -> None:
        """Moves time forward and runs every action that becomes due."""
        until = self._now + aws_seconds
        while self._due and self._due[0][0] <= until:
            self._now, _, action = heapq.heappop(self._due)
            action()
        self._now = until
