"""What a run was worth, for the dashboard: how much of its time is training that lasts, and what it cost. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from belay.contract.prices import Rates
from belay.goodput.measures import goodput_of
from belay.goodput.reading import events_in
from belay.goodput.timeline import timeline_of
from belay.policy.prices import spent_usd


@dataclass(frozen=True)
class Worth:
    """None: nothing is known to divide by, or no price."""

    durable_goodput: float | None
    """The share of its time in which steps were computed that are proven in S3 (docs/goodput.md)."""
    usd: float | None
    """At most, as budgets are counted: as if everything cost money from the start."""


def worth_of(lines: Iterable[str], rates: Rates | None, *, begin: datetime, end: datetime) -> Worth:
    """`lines`: events.jsonl as it was just written. Where the flow stood is not needed for steps that were proven."""
    texts = list(lines)
    timeline = timeline_of(lambda: events_in(texts), [], begin=begin, end=end, is_over=True)
    return Worth(goodput_of(timeline, rates).durable, spent_usd(rates, end - begin) if rates else None)
