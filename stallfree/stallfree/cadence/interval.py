"""How long to wait between two saves: as failures make it cheapest, and never longer than the loss that is allowed."""

import math
from dataclasses import dataclass

_SECONDS_IN_AN_HOUR = 3600


@dataclass(frozen=True)
class SaveTimes:
    step_seconds: float
    """From one chance to save to the next."""
    cost_seconds: float
    """What one save takes from training."""
    durable_seconds: float
    """Until it is written: no other save begins before."""
    safe_seconds: float
    """Until it counts: from then on the work before it cannot be lost."""

    @property
    def least_seconds(self) -> float:
        """Saves cannot be closer to each other than this."""
        return max(self.step_seconds, self.durable_seconds)


def interval_seconds(measured: SaveTimes, *, most_loss_seconds: float, failures_per_hour: float) -> float:
    """From one save to the next. What is trained in it, and until the next one is safe, is what a failure costs."""
    cheapest = cheapest_seconds(measured.cost_seconds, failures_per_hour=failures_per_hour)
    longest = most_loss_seconds - measured.safe_seconds
    return max(measured.least_seconds, min(cheapest, longest))


def cheapest_seconds(cost_seconds: float, *, failures_per_hour: float) -> float:
    """Where the time that saves take and the work that failures take are least, together.

    Young's first order, with the terms that Daly added (Future Generation Computer Systems 22, 2006, equation 37).
    """
    if failures_per_hour == 0:
        return math.inf
    between_failures = _SECONDS_IN_AN_HOUR / failures_per_hour
    if cost_seconds >= 2 * between_failures:
        return between_failures
    share = cost_seconds / (2 * between_failures)
    young = math.sqrt(2 * cost_seconds * between_failures)
    return young * (1 + math.sqrt(share) / 3 + share / 9) - cost_seconds
