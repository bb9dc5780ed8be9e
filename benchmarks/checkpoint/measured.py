"""What one way of saving came to in one training."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_LEAST_TO_TELL_THE_SPREAD = 3


@dataclass(frozen=True)
class Value:
    """A median, and how far the middle half of what it is made of reaches from it."""

    median: float
    spread: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Value":
        middle = statistics.median(values)
        if len(values) < _LEAST_TO_TELL_THE_SPREAD:
            return cls(middle, math.inf)
        return cls(middle, statistics.median(abs(value - middle) for value in values))


@dataclass(frozen=True)
class Measured:
    """`first_...` is the first save; the medians are of all others."""

    first_blocked_seconds: float
    blocked: Value
    slowdown: Value
    durable: Value
    quiet_step: Value
    first_step_seconds: float
    is_durable: bool
    parameters: int
    bytes: int
    peak_bytes: int

    @classmethod
    def of(cls, figures: dict[str, Any]) -> "Measured":
        first, *others = figures["saves"]
        return cls(
            first_blocked_seconds=first["blocked_seconds"],
            blocked=Value.of([save["blocked_seconds"] for save in others]),
            slowdown=Value.of([save["slowdown_seconds"] for save in others]),
            durable=Value.of([save["durable_seconds"] for save in others]),
            quiet_step=Value.of([seconds for save in others for seconds in save["quiet_after"]]),
            first_step_seconds=figures["first_step_seconds"],
            is_durable=figures["is_durable"],
            parameters=figures["parameters"],
            bytes=figures["bytes"],
            peak_bytes=figures["peak_bytes"],
        )
