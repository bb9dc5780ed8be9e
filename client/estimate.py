"""What a run costs, how long it still takes, and what would be lost if everything broke now. Pure."""

from dataclasses import dataclass
from datetime import datetime

from client.progress import Look, progress_of
from contract.events import Step
from contract.prices import Rates
from goodput.measures import Goodput, goodput_of
from goodput.phases import Phase, phase_of
from goodput.timeline import Timeline, timeline_of


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


def phases_of(look: Look) -> list[Phase]:
    return [phase for entered in look.entered if (phase := phase_of(entered.at, entered.state))]


def timeline_now(look: Look, *, begin: datetime, now: datetime) -> Timeline:
    """A run that is over ended when the last thing of it happened."""
    end = _last_moment(look, begin) if look.is_over else now
    return timeline_of(lambda: look.events, phases_of(look), begin=begin, end=end, is_over=look.is_over)


def estimate_of(look: Look, rates: Rates | None, *, begin: datetime, now: datetime) -> Estimate:
    timeline = timeline_now(look, begin=begin, now=now)
    goodput = goodput_of(timeline, rates)
    progress = progress_of(look)
    step_seconds = next(
        (event.step_seconds for event in reversed(look.events) if isinstance(event, Step) and event.step_seconds), None
    )
    left = None
    if step_seconds and progress.total_steps and not look.is_over:
        left = step_seconds * max(0, progress.total_steps - (progress.step or 0))
    unsaved = step_seconds and step_seconds * progress.steps_unsaved
    an_hour = rates.usd_per_hour if rates else None
    return Estimate(
        attempts=len(timeline.attempts),
        seconds_left=left,
        spent_usd=goodput.cost.usd,
        projected_usd=_sum(goodput.cost.usd, _dollars(left, an_hour)),
        at_risk_usd=_dollars(step_seconds and step_seconds * progress.steps_at_risk, an_hour),
        unsaved_seconds=unsaved,
        unsaved_usd=_dollars(unsaved, an_hour),
        goodput=goodput,
    )


def _last_moment(look: Look, begin: datetime) -> datetime:
    moments = [begin, *(entered.at for entered in look.entered[-1:]), *(event.at for event in look.events[-1:])]
    return max(moments)


def _dollars(seconds: float | None, usd_per_hour: float | None) -> float | None:
    return None if seconds is None or usd_per_hour is None else seconds / 3600 * usd_per_hour


def _sum(one: float | None, two: float | None) -> float | None:
    return None if one is None or two is None else one + two
