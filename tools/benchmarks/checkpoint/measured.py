"""What one way of saving cost one training."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_LEAST_TO_TELL_THE_SPREAD = 3
_ERROR_OF_A_MEDIAN = 1.86
"""Its standard error in units of (median absolute deviation / root of the number), for values that lie like a bell."""


@dataclass(frozen=True)
class Value:
    """A median, and by how much it may be off: its standard error, from how far the middle half of the values reaches.

    So one disturbed save of ten moves neither of the two.
    """

    median: float
    error: float = 0.0

    @classmethod
    def of(cls, values: Sequence[float]) -> "Value":
        middle = statistics.median(values)
        if len(values) < _LEAST_TO_TELL_THE_SPREAD:
            return cls(middle, math.inf)
        spread = statistics.median(abs(value - middle) for value in values)
        return cls(middle, _ERROR_OF_A_MEDIAN * spread / math.sqrt(len(values)))

    @property
    def in_words(self) -> str:
        """With the range that holds it in 19 of 20 cases; a question mark after too few saves to say."""
        return "± ?" if math.isinf(self.error) else f"± {2 * self.error:.2g}"


@dataclass(frozen=True)
class SavingCost:
    """`first_...` is the first save; the medians are of all others."""

    first_blocked_seconds: float
    blocked: Value
    slowdown: Value
    durable: Value
    quiet_step: Value
    first_step_seconds: float
    saves: int
    is_durable: bool
    bytes: int
    peak_bytes: int

    @classmethod
    def of(cls, figures: dict[str, Any]) -> "SavingCost":
        first, *others = figures["saves"]
        return cls(
            first_blocked_seconds=first["blocked_seconds"],
            blocked=Value.of([save["blocked_seconds"] for save in others]),
            slowdown=Value.of([save["slowdown_seconds"] for save in others]),
            durable=Value.of([save["durable_seconds"] for save in others]),
            quiet_step=Value.of([seconds for save in others for seconds in save["quiet_after"]]),
            first_step_seconds=figures["first_step_seconds"],
            saves=len(figures["saves"]),
            is_durable=figures["is_durable"],
            bytes=figures["bytes"],
            peak_bytes=figures["peak_bytes"],
        )
