"""The time that a step takes in this run, learned from the run itself: the median of its steps."""

import math
from collections import Counter

# Half a percent apart: finer than anything that is decided by it, and a few thousand numbers at most.
_BINS_PER_E = 200


class Pace:
    def __init__(self) -> None:
        self._steps: Counter[int] = Counter()

    def add(self, duration_us: float, steps: int) -> None:
        if duration_us > 0:
            self._steps[round(math.log(duration_us / steps) * _BINS_PER_E)] += steps

    @property
    def seconds(self) -> float | None:
        """None if no step was ever timed."""
        half = self._steps.total() / 2
        seen = 0
        for key in sorted(self._steps):
            seen += self._steps[key]
            if seen >= half:
                return math.exp(key / _BINS_PER_E) / 1e6
        return None
