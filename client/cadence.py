"""How often a job with `max_loss` will save, as the trainer itself reckons it once it has measured. Pure."""

import math
from dataclasses import dataclass

from contract.losses import PUMP_EVERY
from contract.units import duration_of

# What stallfree.max_loss and stallfree.pace do with what they measured; a test holds the two together.
_PLANNED = 0.9
_HOUR_SECONDS = 3600


@dataclass(frozen=True)
class Measured:
    """What a save takes: of an earlier run, or estimated. None: nobody knows yet."""

    save_seconds: float | None
    stall_seconds: float | None = None
    step_seconds: float | None = None
    proof_seconds: float = 2 * PUMP_EVERY.total_seconds()
    """From the disk to the proof in S3: a round of the pump begins the export, and another one proves it."""


@dataclass(frozen=True)
class Pace:
    every_seconds: float | None
    is_kept: bool | None
    """None as long as nobody knows what a save takes."""
    sentence: str


def pace_of(loss_seconds: float, measured: Measured, *, failures_per_day: float | None) -> Pace:
    """At risk are an interval of saves and the time until one is proven: both share what may be lost."""
    if measured.save_seconds is None:
        return Pace(None, None, "as max_loss allows; nobody knows yet what a save takes: say --parameters 7e9")
    safe = measured.save_seconds + measured.proof_seconds
    least = max(measured.step_seconds or 0.0, measured.save_seconds)
    longest = _PLANNED * loss_seconds - safe
    cheapest = _cheapest_seconds(measured.stall_seconds, failures_per_day)
    every = max(least, min(cheapest, longest))
    if least + safe > loss_seconds:
        return Pace(
            every,
            False,
            f"{_text(every)}, as often as it can. max_loss cannot be kept: {_text(least)} lie between two saves and"
            f" {_text(safe)} until one is proven; allow {_text(math.ceil((least + safe) / _PLANNED / 60) * 60)}"
            " or more, or take a larger file system",
        )
    why = "the cheapest at failures_per_day" if cheapest < longest else f"a save is proven {_text(safe)} after it"
    return Pace(every, True, f"{_text(every)}: {why}")


def _cheapest_seconds(stall_seconds: float | None, failures_per_day: float | None) -> float:
    """By Young, with Daly's terms (Future Generation Computer Systems 22, 2006, equation 37)."""
    if failures_per_day is None or stall_seconds is None:
        return math.inf
    between_failures = 24 * _HOUR_SECONDS / failures_per_day
    if stall_seconds >= 2 * between_failures:
        return between_failures
    share = stall_seconds / (2 * between_failures)
    return math.sqrt(2 * stall_seconds * between_failures) * (1 + math.sqrt(share) / 3 + share / 9) - stall_seconds


def _text(seconds: float) -> str:
    """To the second, and of more than ten minutes to the minute."""
    return duration_of(round(seconds) if seconds < 600 else round(seconds / 60) * 60)
