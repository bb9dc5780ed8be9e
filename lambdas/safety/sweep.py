"""Which file systems belong to no running execution, and which runs lack their certificate? Looked for every 5 minutes.

EventBridge delivers as best it can, and that is not always. This is the guarantee behind it: it needs no event and no
memory, only the file systems that are there, and what the executions became.
"""

from datetime import datetime, timedelta
from typing import Any

from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext
from pydantic import ValidationError

from belay.aws import clock, executions, ledgers, notices, scratch
from belay.aws.bucket import Bucket
from belay.aws.clients import client
from belay.aws.environment import Environment
from belay.aws.exceptions import SweepFailed
from belay.aws.telemetry import logger, metrics, tracer
from belay.contract import tags
from belay.contract.certificate import AskedBy
from belay.contract.messages.teardown import TeardownInput
from belay.contract.paths import RunPrefix
from belay.contract.plan import RunPlan
from belay.contract.run import execution_digest
from belay.policy import certificates, retrying
from belay.policy.file_system import FileSystem
from belay.policy.notices import Notice

# For how long the sweep looks for runs that lack their certificate and have no file system left.
_REMEMBERED = timedelta(days=2)


class Settings(Environment):
    bucket: str
    deployment: str
    train_machine_arn: str
    teardown_machine_arn: str
    notices_topic_arn: str
    # How soon another teardown is tried after one that did not end well. What is kept waits longer each time.
    pause_seconds: float = 1800

    @property
    def pause(self) -> timedelta:
        return timedelta(seconds=self.pause_seconds)


@logger.inject_lambda_context(clear_state=True)
@metrics.log_metrics
@tracer.capture_lambda_handler
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    settings = Settings.read()
    torn_down_now = executions.running_for(client("stepfunctions"), settings.teardown_machine_arn)
    started: list[dict[str, str | None]] = []
    failed: list[str] = []
    seen: set[str] = set()
    orphans = 0
    ours = scratch.tagged(client("fsx"), {tags.DEPLOYMENT: settings.deployment})
    for file_system in ours:
        try:
            owner = _owner(file_system, settings)
            seen.add(owner)
            if owner in torn_down_now or not _has_ended(owner):
                continue
            if _tear_down(owner, file_system, settings, clock.now()):
                started.append({"id": file_system.id, "execution_arn": owner})
                # One that is kept was found before, by its own teardown.
                if file_system.state != tags.State.KEPT:
                    orphans += 1
                    _tell(file_system, settings)
        except Exception as error:
            # One file system's trouble must not keep the others; the round ends as an error all the same.
            logger.exception("could not look after a file system", extra={"file_system": file_system.id})
            failed.append(f"{file_system.id}: {error}")
    try:
        started += _certify_runs_without_one(settings, torn_down_now | seen, failed)
    except Exception as error:
        logger.exception("could not look for what lacks its certificate")
        failed.append(f"what lacks its certificate: {error}")
    metrics.add_metric(name="OrphansFound", unit=MetricUnit.Count, value=orphans)
    metrics.add_metric(
        name="KeptFileSystems", unit=MetricUnit.Count, value=sum(one.state == tags.State.KEPT for one in ours)
    )
    if failed:
        raise SweepFailed("; ".join(failed))
    return {"started": started}


def _tell(file_system: FileSystem, settings: Settings) -> None:
    job, run = file_system.tags[tags.JOB], file_system.tags[tags.RUN]
    notice = Notice(
        subject="Belay found a file system without a living run",
        job=job,
        run=run,
        reason=f"it is over, and its file system {file_system.id} was still there with no teardown at work."
        " The sweep has started one: it exports, proves and deletes.",
        last_verified_step=_last_verified_step(Bucket(client("s3"), settings.bucket), RunPrefix(job, run)),
        next_command=f"belay watch {run}",
        chapter="OrphanFound",
    )
    notices.tell(client("sns"), settings.notices_topic_arn, notice)


def _last_verified_step(bucket: Bucket, prefix: RunPrefix) -> int | None:
    """For a person only. Nothing is decided by it, so a ledger that cannot be read stops nothing."""
    try:
        return ledgers.read(bucket, prefix).last_verified_step if bucket.exists(prefix.ledger) else None
    except ValidationError:
        return None


def _owner(file_system: FileSystem, settings: Settings) -> str:
    """The execution that asked for it, as its accepted plan says: the plan is written before anything is created."""
    prefix = RunPrefix(file_system.tags[tags.JOB], file_system.tags[tags.RUN])
    plan = Bucket(client("s3"), settings.bucket).look_for(prefix.plan)
    if plan is None:
        raise SweepFailed(f"its plan {prefix.plan} is not in S3, so its execution is not known")
    return RunPlan.model_validate_json(plan.body).execution_arn


def _has_ended(execution_arn: str) -> bool:
    """An execution that is no longer on record has ended long ago."""
    execution = executions.describe(client("stepfunctions"), execution_arn)
    return execution is None or execution.ending is not None


def _tear_down(execution_arn: str, file_system: FileSystem, settings: Settings, now: datetime) -> bool:
    """False if it is too early for another, or if that one was started already: its name is taken."""
    attempt = retrying.attempt(file_system, settings.pause, now)
    return attempt is not None and _start(execution_arn, attempt, settings)


def _certify_runs_without_one(settings: Settings, busy: set[str], failed: list[str]) -> list[dict[str, str | None]]:
    """Runs that ended before they had a file system, and whose event was lost; or after it was deleted."""
    now, started = clock.now(), list[dict[str, str | None]]()
    for owner, stopped_at in _ended_badly(settings, since=now - _REMEMBERED).items():
        attempt = retrying.attempt_without(stopped_at, settings.pause, now)
        if owner in busy or attempt is None:
            continue
        try:
            if _lacks_certificate(owner, settings) and _start(owner, attempt, settings):
                started.append({"id": None, "execution_arn": owner})
        except Exception as error:
            logger.exception("could not look after a run", extra={"execution_arn": owner})
            failed.append(f"{owner}: {error}")
    return started


def _ended_badly(settings: Settings, *, since: datetime) -> dict[str, datetime]:
    """The Train executions that ended badly or whose teardown did, and when that first was."""
    states = client("stepfunctions")
    ended = dict(executions.ended_badly(states, settings.train_machine_arn, since=since))
    for teardown, stopped_at in executions.ended_badly(states, settings.teardown_machine_arn, since=since):
        owner = executions.owner_of(states, teardown, settings.train_machine_arn)
        if owner is not None:
            ended[owner] = min(stopped_at, ended.get(owner, stopped_at))
    return ended


def _lacks_certificate(execution_arn: str, settings: Settings) -> bool:
    """A refused job has none, and needs none."""
    execution = executions.describe(client("stepfunctions"), execution_arn)
    prefix = executions.prefix_of(execution_arn, execution) if execution else None
    bucket = Bucket(client("s3"), settings.bucket)
    if prefix is None or bucket.look_for(prefix.plan) is None:
        return False
    certificate = bucket.look_for(prefix.certificate)
    return certificate is None or certificates.says_kept(certificate.body)


def _start(execution_arn: str, attempt: str, settings: Settings) -> bool:
    return executions.start(
        client("stepfunctions"),
        settings.teardown_machine_arn,
        name=f"sweep-{execution_digest(execution_arn)}-{attempt}",
        document=TeardownInput(execution_arn=execution_arn, asked_by=AskedBy.SWEEP).model_dump_json(exclude_none=True),
    )
