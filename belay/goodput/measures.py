"""What a timeline is worth: three goodputs, and the dollars by part. Each node has an instance; they share the rest."""

from dataclasses import dataclass

from belay.contract.prices import Rates
from belay.goodput.buckets import ON_THE_INSTANCE, Bucket
from belay.goodput.timeline import Timeline

_US_PER_HOUR = 3_600_000_000


@dataclass(frozen=True)
class Cost:
    """As if the instance were paid for from the moment that it is asked for: the most that it can be."""

    instance_usd: float | None
    file_system_usd: float | None

    @property
    def usd(self) -> float | None:
        if self.instance_usd is None or self.file_system_usd is None:
            return None
        return self.instance_usd + self.file_system_usd


@dataclass(frozen=True)
class Goodput:
    """Shares between 0 and 1. None: there is nothing to divide by, or no price is known."""

    time: float | None
    dollars: float | None
    durable: float | None
    cost: Cost


def goodput_of(timeline: Timeline, rates: Rates | None) -> Goodput:
    us_of, wall_us, nodes = timeline.us_of, timeline.wall_us, len(timeline.nodes)
    cost = cost_of(us_of, rates, nodes=nodes)
    compute_usd = _usd(nodes * us_of[Bucket.COMPUTE], rates.instance_usd_per_hour if rates else None)
    return Goodput(
        time=us_of[Bucket.COMPUTE] / wall_us if wall_us else None,
        dollars=compute_usd / cost.usd if compute_usd is not None and cost.usd else None,
        durable=timeline.durable_us / wall_us if wall_us else None,
        cost=cost,
    )


def cost_of(us_of: dict[Bucket, int], rates: Rates | None, *, nodes: int) -> Cost:
    on_the_instance_us = sum(us for bucket, us in us_of.items() if bucket in ON_THE_INSTANCE)
    file_system_us = sum(us for bucket, us in us_of.items() if bucket is not Bucket.QUEUE)
    return Cost(
        instance_usd=_usd(nodes * on_the_instance_us, rates.instance_usd_per_hour if rates else None),
        file_system_usd=_usd(file_system_us, rates.file_system_usd_per_hour if rates else None),
    )


def _usd(us: int, usd_per_hour: float | None) -> float | None:
    return None if usd_per_hour is None else us / _US_PER_HOUR * usd_per_hour
