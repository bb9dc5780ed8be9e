"""How far apart the saves of a job with `max_loss` are. Pure.

The trainer decides it while it trains, from what it measures (stallfree). Here is what an earlier run came to; before
there is one, the most that `max_loss` allows.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from belay.contract.events import Saved
from belay.contract.max_loss import PUMP_EVERY
from belay.contract.units import duration_of

# What a promise needs above what was measured once: saves are not all alike.
_MARGIN = 1.1


@dataclass(frozen=True)
class Measured:
    """What a save takes: of an earlier run, or estimated. None: not known yet."""

    save_seconds: float | None
    step_seconds: float | None = None
    proof_seconds: float = 2 * PUMP_EVERY.total_seconds()
    """From the disk to the proof in S3: one round of the pump begins the export, the next one proves it."""
    interval_seconds: float | None = None
    """Between two saves of an earlier run that had the same `max_loss` and `failures_per_day`."""


@dataclass(frozen=True)
class SaveInterval:
    seconds: float | None
    is_kept: bool | None
    """Whether max_loss can be kept; None as long as it is not known what a save takes."""
    sentence: str


def save_interval(loss_seconds: float, measured: Measured, *, has_failure_rate: bool) -> SaveInterval:
    """An interval and the time until a save is proven are lost together: `loss_seconds` is for both."""
    if measured.save_seconds is None:
        return SaveInterval(None, None, "as max_loss allows; what a save takes is not known yet: say --parameters 7e9")
    until_proven = measured.save_seconds + measured.proof_seconds
    shortest = max(measured.step_seconds or 0.0, measured.save_seconds)
    if shortest + until_proven > loss_seconds:
        allow = math.ceil(_MARGIN * (shortest + until_proven) / 60) * 60
        why = f"{_text(shortest)} lie between two saves, and {_text(until_proven)} until one is proven"
        instead = f"allow {_text(allow)} or more, or take a larger file system"
        sentence = f"{_text(shortest)}, as often as it can. max_loss cannot be kept: {why}; {instead}"
        return SaveInterval(shortest, False, sentence)
    if measured.interval_seconds is not None:
        seconds = measured.interval_seconds
        return SaveInterval(seconds, True, f"{_text(seconds)}, as in the last run with this max_loss")
    longest = loss_seconds - until_proven
    why = f"a save is proven {_text(until_proven)} after it"
    often = "; more often where failures_per_day makes that cheaper" if has_failure_rate else ""
    return SaveInterval(longest, True, f"{_text(longest)} at most: {why}{often}")


def interval_of(saves: Sequence[Saved]) -> float | None:
    """Between two saves of an attempt. Without the first and the last: both ends of a training are saved too."""
    gaps = [(two.at - one.at).total_seconds() for one, two in pairwise(saves) if one.attempt == two.attempt][1:-1]
    return median(gaps) if gaps else None


def _text(seconds: float) -> str:
    """To the second, and of more than ten minutes to the minute."""
    return duration_of(round(seconds) if seconds < 600 else round(seconds / 60) * 60)
