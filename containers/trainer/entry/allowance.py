"""How long this attempt may train: until what is left of its time or of its money is just what saving takes."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from belay.contract import exit_codes
from belay.contract.plan import RunPlan

# A short limit is not spent on its own end alone.
_MOST_FOR_SAVING = 0.2


@dataclass(frozen=True)
class Allowance:
    until: datetime
    spent: str
    exit_code: int

    def seconds_left(self, now: datetime) -> float:
        return max(0.0, (self.until - now).total_seconds())


def allowance_of(plan: RunPlan, *, began: datetime, waited: timedelta, stop_seconds: int) -> Allowance:
    """The end that comes first. Past it Step Functions would end the task, and nobody would have saved."""
    limit = timedelta(seconds=plan.job.limits.train)
    of_time = Allowance(
        until=began + limit - min(timedelta(seconds=stop_seconds), limit * _MOST_FOR_SAVING),
        spent="limits.train leaves only what saving takes",
        exit_code=exit_codes.TIME_SPENT,
    )
    # Money is counted by time, and what the run has waited cost nothing.
    spend_until = plan.spend_until and plan.spend_until + waited
    if spend_until is None or spend_until > of_time.until:
        return of_time
    return Allowance(
        until=spend_until,
        spent="limits.budget_usd leaves only what saving and exporting take",
        exit_code=exit_codes.BUDGET_SPENT,
    )
