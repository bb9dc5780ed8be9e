"""How long a step takes when nothing else goes on, and how much longer under a save."""

import statistics
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from stallfree.events import Interfered

_REMEMBERED = 200


@dataclass
class _Overlap:
    seconds: float = 0.0
    steps: int = 0


class StepTimes:
    """A step lasts from the end of the one before it to its own end, so it includes what a save held up."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._quiet: deque[float] = deque(maxlen=_REMEMBERED)
        self._overlaps: dict[int, _Overlap] = {}
        self._in_this_step: set[int] = set()
        self._counts = False
        self._began = clock()

    def begin(self) -> None:
        """The first step also sets up what later ones use, so it is not counted."""
        self._began = self._clock()
        self._counts = False

    def disturbed(self) -> None:
        """The step in progress includes something else, as an evaluation."""
        self._counts = False

    def save_began(self, step: int) -> None:
        self._overlaps[step] = _Overlap()
        self._in_this_step.add(step)

    def done(self, *, under_way: int | None) -> list[Interfered]:
        """A step has ended; what is known since then of saves that have ended as well."""
        now = self._clock()
        seconds, self._began = now - self._began, now
        if self._counts and not self._in_this_step:
            self._quiet.append(seconds)
        elif self._counts:
            for step in self._in_this_step:
                overlap = self._overlaps[step]
                overlap.seconds += seconds / len(self._in_this_step)
                overlap.steps += 1
        self._counts = True
        self._in_this_step = {step for step in self._in_this_step if step == under_way}
        has_ended = len(self._overlaps) > len(self._in_this_step)
        typical = self.typical_seconds
        return self._finished(typical) if has_ended and typical is not None else []

    def seconds_so_far(self) -> float:
        """Of the step in progress."""
        return self._clock() - self._began

    @property
    def typical_seconds(self) -> float | None:
        return statistics.median(self._quiet) if self._quiet else None

    @property
    def slowest_seconds(self) -> float | None:
        """Of the quiet ones that are remembered."""
        return max(self._quiet) if self._quiet else None

    def _finished(self, typical_seconds: float) -> list[Interfered]:
        ended = [step for step in self._overlaps if step not in self._in_this_step]
        overlaps = {step: self._overlaps.pop(step) for step in ended}
        return [
            Interfered(step, overlap.seconds - overlap.steps * typical_seconds, overlap.steps)
            for step, overlap in overlaps.items()
            if overlap.steps
        ]
