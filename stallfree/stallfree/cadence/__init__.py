"""When a checkpoint is due."""

import time
from collections.abc import Callable
from typing import Protocol

from stallfree.events import Event, MaxLossNotKept


class Cadence(Protocol):
    def is_due(self, step: int) -> bool: ...

    def saved(self) -> None:
        """A checkpoint is taken now, for whatever reason (and once when training begins)."""

    def observe(self, event: Event) -> None:
        """An event of a save, for cadences that measure how long saves take."""
        return

    def unkept(self) -> MaxLossNotKept | None:
        """Once: a limit that this cadence cannot keep."""
        return None


class EverySteps(Cadence):
    def __init__(self, steps: int) -> None:
        self._steps = steps

    def is_due(self, step: int) -> bool:
        return step % self._steps == 0

    def saved(self) -> None:
        """Steps are counted from the beginning of training, not from the last save."""


class EverySeconds(Cadence):
    def __init__(self, seconds: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._last = clock()

    def is_due(self, step: int) -> bool:
        return self._clock() - self._last >= self._seconds

    def saved(self) -> None:
        self._last = self._clock()


class FirstOf(Cadence):
    """Due when one of them is; a checkpoint counts for all."""

    def __init__(self, *cadences: Cadence) -> None:
        self._cadences = cadences

    def is_due(self, step: int) -> bool:
        # Each is asked at each step: some measure steps.
        due = [cadence.is_due(step) for cadence in self._cadences]
        return any(due)

    def saved(self) -> None:
        for cadence in self._cadences:
            cadence.saved()

    def observe(self, event: Event) -> None:
        for cadence in self._cadences:
            cadence.observe(event)

    def unkept(self) -> MaxLossNotKept | None:
        return next((unkept for cadence in self._cadences if (unkept := cadence.unkept()) is not None), None)
