"""What an hour of a run costs, and how long a budget lasts. The prices are what the deployment was told."""

from datetime import datetime, timedelta

from pydantic import BaseModel, ConfigDict, Field

from contract.job import Job
from contract.losses import LossUnusable

_HOURS_IN_A_MONTH = 730
# Once training is told to stop: it saves, the instance leaves, then the file system stays for the last export.
SAVING = timedelta(minutes=5)
EXPORTING = timedelta(minutes=30)


class Prices(BaseModel):
    """List prices, in dollars. Those of a Region, or of an agreement, go into the deployment's settings."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    instance_hour: float | None = Field(default=None, gt=0, description="One training instance, on demand.")
    spot_instance_hour: float | None = Field(default=None, gt=0, description="The most that Spot may cost.")
    scratch_gib_month: float = Field(default=0.14, gt=0)
    persistent_gib_month: float | None = Field(default=None, gt=0, description="At the throughput that jobs use.")


class Rates(BaseModel):
    """Dollars an hour, by part. None: the deployment does not know the price."""

    model_config = ConfigDict(frozen=True)

    instance_usd_per_hour: float | None
    file_system_usd_per_hour: float | None

    @property
    def usd_per_hour(self) -> float | None:
        if self.instance_usd_per_hour is None or self.file_system_usd_per_hour is None:
            return None
        return self.instance_usd_per_hour + self.file_system_usd_per_hour

    @property
    def file_system_usd_a_day(self) -> float | None:
        """What a file system that is kept goes on costing."""
        return None if self.file_system_usd_per_hour is None else round(24 * self.file_system_usd_per_hour, 2)


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
    """When training must be told to stop, so that saving, exporting and deleting still fit into the budget.

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
