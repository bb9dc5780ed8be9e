"""What a job may spend and lose at a deployment's prices: known before anything is created."""

from datetime import datetime

from belay.contract.faults import JobRefused
from belay.contract.job import Job
from belay.contract.max_loss import LossUnusable
from belay.contract.prices import Rates
from belay.policy.prices import BudgetUnusable, max_loss_seconds, spend_until


def bounds_of(job: Job, rates: Rates, started_at: datetime) -> tuple[datetime | None, float | None]:
    """Until when money may be spent, and how many seconds of work may be lost; JobRefused if that cannot be kept."""
    until, loss, faults = None, None, []
    try:
        until = spend_until(job, rates, started_at)
    except BudgetUnusable as fault:
        faults.append(f"limits.budget_usd: {fault}")
    try:
        loss = max_loss_seconds(job, rates)
    except LossUnusable as fault:
        faults.append(f"checkpoint.max_loss: {fault}")
    if faults:
        raise JobRefused(faults)
    return until, loss
