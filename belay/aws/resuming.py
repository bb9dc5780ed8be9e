"""Which checkpoint a run starts from."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

from pydantic import ValidationError

from belay.aws import checkpoints, ledgers
from belay.aws.bucket import Bucket
from belay.aws.clients import CONNECTIONS
from belay.aws.telemetry import logger
from belay.contract.faults import JobRefused
from belay.contract.job import Job
from belay.contract.paths import RunPrefix, checkpoint_folder, checkpoint_step, job_prefix
from belay.contract.plan import ResumeFrom
from belay.contract.run import RUN
from belay.policy.requests import resume_from

# Broken checkpoints are rare; so many in a row mean that something else is wrong, which a person should see.
MOST_TRIED = 50
_MOST_NAMED = 5
_TOO_MANY_BROKEN = (
    "resume: none of the newest {count} checkpoints of '{job}' is whole;"
    " look at them, then say 'never' or '<run>/checkpoint-<step>'"
)


def choose(bucket: Bucket, job: Job, run: str) -> ResumeFrom | None:
    """What `resume` in the job file means today; JobRefused if it cannot be had."""
    match job.resume:
        case "never":
            return None
        case "auto":
            return _newest(bucket, job.name, run)
        case named:
            return _named(bucket, job.name, named)


def _newest(bucket: Bucket, job: str, run: str) -> ResumeFrom | None:
    """The highest whole step of the newest earlier run that has any.

    The newest run counts, not the highest step: a run that itself resumed carries the higher steps anyway, and one
    that was started afresh was meant to leave the older ones behind.
    """
    for tried, (earlier, step) in enumerate(_candidates(bucket, job, run)):
        if tried == MOST_TRIED:
            raise JobRefused([_TOO_MANY_BROKEN.format(count=MOST_TRIED, job=job)])
        if damage := _damage(bucket, job, earlier, step):
            logger.warning("Not resumed from", extra={"run": earlier, "step": step, "damage": damage})
        elif _is_whole(bucket, job, earlier, step):
            return resume_from(earlier, step)
    return None


def _named(bucket: Bucket, job: str, named: str) -> ResumeFrom:
    run, _, folder = named.partition("/")
    step = checkpoint_step(folder)
    damage = None if step is None else _damage(bucket, job, run, step)
    if step is not None and damage is None and _is_whole(bucket, job, run, step):
        return resume_from(run, step)
    others = islice((other for other in _candidates(bucket, job, None) if other != (run, step)), MOST_TRIED)
    whole = (f"{other}/{checkpoint_folder(at)}" for other, at in others if _can_be_had(bucket, job, other, at))
    known = ", ".join(islice(whole, _MOST_NAMED))
    fix = f"the newest whole ones are {known}" if known else f"no run of '{job}' has one; use 'auto' or 'never'"
    raise JobRefused([f"resume: {named} {damage or 'is not there, or not whole'}; {fix}"])


def _candidates(bucket: Bucket, job: str, before_run: str | None) -> Iterator[tuple[str, int]]:
    """Every checkpoint of the job, newest run first, then highest step first. Run ids sort by time."""
    runs = [name for name in bucket.folders(job_prefix(job)) if RUN.fullmatch(name)]
    for run in sorted(runs, reverse=True):
        # Only earlier runs: a retry of the same question must not find what began in between.
        if before_run is None or run < before_run:
            for step in checkpoints.steps_of(bucket, RunPrefix(job, run)):
                yield run, step


def _can_be_had(bucket: Bucket, job: str, run: str, step: int) -> bool:
    return _damage(bucket, job, run, step) is None and _is_whole(bucket, job, run, step)


def _damage(bucket: Bucket, job: str, run: str, step: int) -> str | None:
    """As the last reading of its bytes found it: S3's own checksums, which are compared here, do not show it."""
    try:
        ledger = ledgers.read(bucket, RunPrefix(job, run))
    except ValidationError:
        logger.warning("A ledger that cannot be read says nothing of damage", extra={"run": run})
        return None
    return next((one.damage_sentence for one in ledger.damaged if one.step == step), None)


def _is_whole(bucket: Bucket, job: str, run: str, step: int) -> bool:
    objects = checkpoints.stored_of(bucket, RunPrefix(job, run), step)
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        return checkpoints.prove(bucket, step, objects, pool).is_whole
