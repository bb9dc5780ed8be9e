"""What a run costs, how long it still takes, and what would be lost if everything broke now. Pure."""

from dataclasses import dataclass
from datetime import datetime

from belay.client.progress import Snapshot, progress_of
from belay.contract.events import Step
from belay.contract.prices import Rates
from belay.goodput.flow_states import FlowState, flow_state_of
from belay.goodput.measures import Goodput, goodput_of
from belay.goodput.timeline import Timeline, timeline_of


@dataclass(frozen=True)
class Estimate:
    """None: not known, or not known yet."""

    attempts: int
    seconds_left: float | None
    spent_usd: float | None
    projected_usd: float | None
    at_risk_usd: float | None
    """What training the steps again would cost that are not proven in S3 yet."""
    unsaved_seconds: float | None
    """What training the steps again would take that no checkpoint holds yet."""
    unsaved_usd: float | None
    goodput: Goodput


def phases_of(snapshot: Snapshot) -> list[FlowState]:
    return [phase for entered in snapshot.entered if (phase := flow_state_of(entered.at, entered.state))]


def timeline_now(snapshot: Snapshot, *, begin: datetime, now: datetime) -> Timeline:
    """A run that is over ended when the last thing of it happened."""
    end = _last_moment(snapshot, begin) if snapshot.is_over else now
    return timeline_of(lambda: snapshot.events, phases_of(snapshot), begin=begin, end=end, is_over=snapshot.is_over)


def estimate_of(snapshot: Snapshot, rates: Rates | None, *, begin: datetime, now: datetime) -> Estimate:
    timeline = timeline_now(snapshot, begin=begin, now=now)
    goodput = goodput_of(timeline, rates)
    progress = progress_of(snapshot)
    step_seconds = next(
        (event.step_seconds for event in reversed(snapshot.events) if isinstance(event, Step) and event.step_seconds),
        None,
    )
    left = None
    if step_seconds and progress.total_steps and not snapshot.is_over:
        left = step_seconds * max(0, progress.total_steps - (progress.step or 0))
    unsaved = step_seconds and step_seconds * progress.steps_unsaved
    an_hour = rates.usd_per_hour if rates else None
    return Estimate(
        attempts=timeline.most_attempts,
        seconds_left=left,
        spent_usd=goodput.cost.usd,
        projected_usd=_sum(goodput.cost.usd, _dollars(left, an_hour)),
        at_risk_usd=_dollars(step_seconds and step_seconds * progress.steps_at_risk, an_hour),
        unsaved_seconds=unsaved,
        unsaved_usd=_dollars(unsaved, an_hour),
        goodput=goodput,
    )


def _last_moment(snapshot: Snapshot, begin: datetime) -> datetime:
    moments = [begin, *(entered.at for entered in snapshot.entered[-1:]), *(event.at for event in snapshot.events[-1:])]
    return max(moments)


def _dollars(seconds: float | None, usd_per_hour: float | None) -> float | None:
    return None if seconds is None or usd_per_hour is None else seconds / 3600 * usd_per_hour


def _sum(one: float | None, two: float | None) -> float | None:
    return None if one is None or two is None else one + two
