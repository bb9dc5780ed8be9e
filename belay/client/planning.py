"""What a job would do and cost, before it does. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from belay.client.save_interval import Measured, SaveInterval, save_interval
from belay.contract.events import Saved
from belay.contract.job import Checkpoint, Job
from belay.contract.prices import Prices, Rates
from belay.contract.units import duration_of
from belay.policy.prices import max_loss_seconds, rates_of

# What AWS says a file system of each kind writes, in MB/s for each TiB (docs/guide.md).
_SCRATCH_2_MB_PER_SECOND_AND_TIB = 100
_PERSISTENT_2_DEFAULT = 125
# AdamW in 32 bits: the weights and two moments.
_BYTES_PER_PARAMETER = 12
_GIB_IN_A_TIB = 1024


@dataclass(frozen=True)
class Plan:
    file_system_gib: int
    file_system_type: str
    write_mb_per_second: float
    checkpoint_gb: float | None
    save_seconds: float | None
    """Until it is on disk; training goes on meanwhile."""
    stall_seconds: float | None
    """How long training waits for a save; known only from an earlier run."""
    cadence: str
    every_seconds: float | None
    """With max_loss: as an earlier run saved, or the most that max_loss allows."""
    max_loss_kept: bool | None
    loss: str
    instance_usd_per_hour: float | None
    file_system_usd_per_hour: float | None
    usd_per_hour: float | None
    most_usd: float | None
    most_because: str


@dataclass(frozen=True)
class Earlier:
    """What an earlier run of the job measured: it counts more than an estimate."""

    saves: Sequence[Saved] = ()
    step_seconds: float | None = None
    proof_seconds: float | None = None
    interval_seconds: float | None = None
    """Only if it had the same max_loss and failures_per_day."""


def plan_of(job: Job, prices: Prices, *, parameters: float | None = None, earlier: Earlier | None = None) -> Plan:
    saves = earlier.saves if earlier else ()
    rates = rates_of(job, prices)
    write = _write_mb_per_second(job)
    size_bytes = parameters * _BYTES_PER_PARAMETER if parameters else _middle([save.bytes for save in saves])
    checkpoint_gb = size_bytes / 1e9 if size_bytes else None
    save_seconds = checkpoint_gb * 1000 / write if checkpoint_gb else None
    if saves and not parameters:
        save_seconds = _middle([save.durable_seconds for save in saves])
    stall_seconds = _middle([save.stall_seconds for save in saves])
    interval = _interval(job, rates, save_seconds, earlier)
    most_usd, because = _most(job, rates.instance_usd_per_hour, rates.file_system_usd_per_hour)
    return Plan(
        file_system_gib=job.scratch.size_gib,
        file_system_type=job.scratch.type,
        write_mb_per_second=write,
        checkpoint_gb=checkpoint_gb,
        save_seconds=save_seconds,
        stall_seconds=stall_seconds,
        cadence=_cadence(job.checkpoint, interval) + _too_often(job.checkpoint, save_seconds),
        every_seconds=interval.seconds if interval else None,
        max_loss_kept=interval.is_kept if interval else None,
        loss=_loss(job.checkpoint, interval, save_seconds),
        instance_usd_per_hour=rates.instance_usd_per_hour,
        file_system_usd_per_hour=rates.file_system_usd_per_hour,
        usd_per_hour=rates.usd_per_hour,
        most_usd=most_usd,
        most_because=because,
    )


def _interval(job: Job, rates: Rates, save_seconds: float | None, earlier: Earlier | None) -> SaveInterval | None:
    """A loss in dollars without prices was refused before, by budgets.bounds_of."""
    loss_seconds = max_loss_seconds(job, rates)
    if loss_seconds is None:
        return None
    measured = Measured(save_seconds)
    if earlier:
        measured = replace(measured, step_seconds=earlier.step_seconds, interval_seconds=earlier.interval_seconds)
    if earlier and earlier.proof_seconds is not None:
        measured = replace(measured, proof_seconds=earlier.proof_seconds)
    return save_interval(loss_seconds, measured, has_failure_rate=job.checkpoint.failures_per_day is not None)


def _cadence(checkpoint: Checkpoint, interval: SaveInterval | None) -> str:
    if checkpoint.every_seconds is not None:
        return duration_of(checkpoint.every_seconds)
    if checkpoint.every is not None or interval is None:
        return str(checkpoint.every)
    return interval.sentence


def _too_often(checkpoint: Checkpoint, save_seconds: float | None) -> str:
    if checkpoint.every_seconds is None or save_seconds is None or save_seconds <= checkpoint.every_seconds:
        return ""
    return ", which is less than a save takes: training will wait for its saves"


def _loss(checkpoint: Checkpoint, interval: SaveInterval | None, save_seconds: float | None) -> str:
    if checkpoint.max_loss is None:
        writing = f"{duration_of(round(save_seconds))} of writing" if save_seconds and save_seconds >= 60 else None
        trained = f"up to {_cadence(checkpoint, interval)} of training"
        return ", ".join(filter(None, [trained, writing, "and a minute or two until a save is proven in S3"]))
    if interval and interval.is_kept is False:
        return f"more than {checkpoint.max_loss} of training: see above"
    return f"at most {checkpoint.max_loss} of training, proof in S3 included; the run says so if that cannot be kept"


def _write_mb_per_second(job: Job) -> float:
    per_tib = _SCRATCH_2_MB_PER_SECOND_AND_TIB
    if job.scratch.type == "PERSISTENT_2":
        per_tib = job.scratch.throughput or _PERSISTENT_2_DEFAULT
    return per_tib * job.scratch.size_gib / _GIB_IN_A_TIB


def _middle(values: Sequence[float]) -> float | None:
    return median(values) if values else None


def _most(job: Job, instance: float | None, file_system: float | None) -> tuple[float | None, str]:
    """If every limit were used up, by every attempt that the job allows."""
    if job.limits.budget_usd is not None:
        return job.limits.budget_usd, "limits.budget_usd ends it before"
    limits, retry = job.limits, job.retry
    attempts = 1 + retry.capacity + retry.interruption + retry.crash
    training_hours = attempts * limits.train / 3600
    around_hours = (limits.scratch + limits.link + limits.export) / 3600
    because = f"{attempts} attempts of {duration_of(limits.train)}, as limits.train and retry allow"
    if instance is None or file_system is None:
        return None, "a price is not known; set 'prices' in cdk.json"
    return training_hours * (instance + file_system) + around_hours * file_system, because
