"""What an hour of a run costs, and how long a budget lasts. The prices are those of the deployment's settings."""

from datetime import datetime, timedelta

from belay.contract.job import Job
from belay.contract.max_loss import LossUnusable
from belay.contract.prices import Prices, Rates

_HOURS_IN_A_MONTH = 730
# Once training is asked to stop: it saves, the instance leaves, then the file system stays for the last export.
SAVING = timedelta(minutes=5)
EXPORTING = timedelta(minutes=30)


class BudgetUnusable(ValueError):
    """The budget cannot be kept; the message says why, and what would do."""


def rates_of(job: Job, prices: Prices) -> Rates:
    # Without a Spot price the one on demand is the most it can be.
    instance = (job.resources.spot and prices.spot_instance_hour) or prices.instance_hour
    per_month = prices.scratch_gib_month if job.scratch.type == "SCRATCH_2" else prices.persistent_gib_month
    return Rates(
        instance_usd_per_hour=instance,
        file_system_usd_per_hour=None if per_month is None else job.scratch.size_gib * per_month / _HOURS_IN_A_MONTH,
    )


def spend_until(job: Job, rates: Rates, started_at: datetime) -> datetime | None:
    """When training must be asked to stop, so that saving, exporting and deleting still fit into the budget.

    As if everything cost money from the start: waiting for the file system and for an instance is paid only in part.
    """
    budget = job.limits.budget_usd
    if budget is None:
        return None
    if rates.usd_per_hour is None or rates.file_system_usd_per_hour is None:
        raise BudgetUnusable(
            "this deployment does not know its prices; set 'prices' in cdk.json (docs/guide.md), or leave it out"
        )
    reserved = rates.usd_per_hour * _hours(SAVING) + rates.file_system_usd_per_hour * _hours(EXPORTING)
    if budget <= reserved:
        raise BudgetUnusable(
            f"saving and exporting alone may cost {reserved:.2f} USD; allow more than that,"
            f" at {rates.usd_per_hour:.2f} USD an hour"
        )
    return started_at + timedelta(hours=(budget - reserved) / rates.usd_per_hour)


def max_loss_seconds(job: Job, rates: Rates) -> float | None:
    """The work that a failure may cost, in time; LossUnusable if it cannot be said or kept."""
    checkpoint, loss = job.checkpoint, job.checkpoint.loss
    if loss is None:
        return None
    seconds = loss.in_seconds(rates.usd_per_hour)
    if checkpoint.every_seconds and checkpoint.every_seconds >= seconds:
        raise LossUnusable(
            f"that is {seconds:.0f} s of work, and saves every {checkpoint.every!r} risk more; leave 'every' out,"
            " and saves are as often as it takes"
        )
    return seconds


def spent_usd(rates: Rates, time: timedelta) -> float | None:
    """The most that a run has cost after this time: as if everything cost money from the start."""
    return None if rates.usd_per_hour is None else rates.usd_per_hour * _hours(time)


def _hours(time: timedelta) -> float:
    return time / timedelta(hours=1)
