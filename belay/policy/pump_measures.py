"""What the pump measures of one run. Pure: the handler publishes it, in one thread."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from belay.contract.events import Saved
from belay.contract.ledger import Ledger
from belay.contract.plan import RunPlan
from belay.policy import pumping
from belay.policy.prices import spent_usd


@dataclass(frozen=True)
class Measure:
    name: str
    unit: str
    value: float


def export_lags(before: Ledger, after: Ledger) -> Iterator[Measure]:
    """From a checkpoint's commit on the mount to its proof in S3: what a lost file server would have cost."""
    known = {(entry.step, entry.verified_at) for entry in before.entries}
    for entry in after.entries:
        if entry.verified_at and entry.written_at and (entry.step, entry.verified_at) not in known:
            lag_seconds = (entry.verified_at - entry.written_at).total_seconds()
            yield Measure("ExportLagSeconds", "Seconds", max(lag_seconds, 0.0))


def at_risk_seconds(ledger: Ledger, now: datetime) -> float | None:
    since = pumping.safe_until(ledger)
    return None if since is None else (now - since).total_seconds()


def spent_percent(plan: RunPlan | None, now: datetime) -> float | None:
    if plan is None or plan.rates is None or plan.job.limits.budget_usd is None:
        return None
    spent = spent_usd(plan.rates, now - plan.started_at)
    return None if spent is None else 100 * spent / plan.job.limits.budget_usd


def of_run(
    late: Mapping[int, Saved], *, risk_seconds: float | None, spent_percent: float | None, now: datetime
) -> Iterator[Measure]:
    if risk_seconds is not None:
        yield Measure("WorkAtRiskSeconds", "Seconds", risk_seconds)
    yield Measure("OldestUnverifiedSeconds", "Seconds", pumping.oldest_seconds(late, now))
    if spent_percent is not None:
        yield Measure("BudgetSpentPercent", "Percent", spent_percent)
