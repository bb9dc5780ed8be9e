"""What is left of a run? Teardown asks this first, and believes nothing that an earlier state remembered."""

from datetime import timedelta
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext
from pydantic import ValidationError

from contract import kept, tags
from contract.certificate import Certificate
from contract.job import Limits
from contract.paths import RunPrefix
from contract.plan import RunPlan
from contract.run import RUN, execution_digest, started_at_of
from lambdas.sense import bookkeeping, certificates, executions, judging, scratch, tasks
from lambdas.sense.bucket import Bucket, Document
from lambdas.sense.clients import client
from lambdas.sense.environment import Environment
from lambdas.sense.executions import Execution
from lambdas.sense.judging import Ending
from lambdas.sense.scratch import FileSystem
from lambdas.sense.telemetry import logger

_CLOCKS_DIFFER_BY = timedelta(minutes=5)


class Settings(Environment):
    bucket: str
    deployment: str
    cluster: str
    trainer_family: str


@logger.inject_lambda_context(clear_state=True)
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    settings = Settings.read()
    arn = event["execution_arn"]
    execution = executions.describe(client("stepfunctions"), arn)
    wanted = {tags.DEPLOYMENT: settings.deployment, tags.EXECUTION: execution_digest(arn)}
    file_systems = [one for one in scratch.tagged(client("fsx"), wanted) if not _is_older_than_its_run(one, execution)]
    first = file_systems[0] if file_systems else None
    bucket = Bucket(client("s3"), settings.bucket)
    prefix = _prefix(arn, execution, first)

    # A refused job left nothing: no plan, no file system, and perhaps not even a name.
    document = bucket.read(prefix.plan) if prefix else None
    if prefix is None or (first is None and document is None):
        return _nothing(arn)
    plan = _plan(document)
    logger.append_keys(run=prefix.run)
    started_at = execution.started_at if execution else started_at_of(prefix.run)
    ended = _ended(execution, first)
    certificate = bucket.read(prefix.certificate)
    alive = tasks.alive(client("ecs"), cluster=settings.cluster, family=settings.trainer_family, run=prefix.run)
    return {
        "known": True,
        "execution_arn": arn,
        "run": prefix.run,
        "job": prefix.job,
        "prefix": prefix.root,
        "started_at": started_at.isoformat(timespec="milliseconds"),
        "ended": ended.model_dump(mode="json") if ended else None,
        "file_system": _described(first, plan) if first else None,
        "others": [other.id for other in file_systems[1:]],
        "tasks": [task.arn for task in alive],
        "certified": certificate is not None and (first is not None or not certificates.says_kept(certificate.body)),
        # For a second teardown of a run that is over: the first one's answer stands.
        "verdict": None if first else _verdict(certificate),
        # As the job asked.
        "export_limit_seconds": (plan.job.limits if plan else Limits()).export,
        "last_verified_step": _last_verified_step(bucket, prefix),
    }


def _is_older_than_its_run(file_system: FileSystem, execution: Execution | None) -> bool:
    """Then no run of ours made it: somebody put our tags on one that was there before, and it is not ours to delete."""
    run = file_system.tags.get(tags.RUN, "")
    started_at = execution.started_at if execution else started_at_of(run) if RUN.fullmatch(run) else None
    older = started_at is not None and file_system.created_at < started_at - _CLOCKS_DIFFER_BY
    if older:
        logger.warning("carries our tags and is older than its run; left alone", extra={"file_system": file_system.id})
    return older


def _prefix(arn: str, execution: Execution | None, first: FileSystem | None) -> RunPrefix | None:
    """What the file system's tags say, else what follows from the execution."""
    if first and tags.JOB in first.tags and tags.RUN in first.tags:
        return RunPrefix(first.tags[tags.JOB], first.tags[tags.RUN])
    return executions.prefix_of(arn, execution) if execution else None


def _ended(execution: Execution | None, first: FileSystem | None) -> Ending | None:
    """None while the execution lives: then Train itself knows how training ended, and says it."""
    ending = execution.ending if execution else judging.NOT_ON_RECORD
    if ending and first and first.state == tags.State.EMPTY:
        return judging.never_started(ending)
    return ending


def _plan(document: Document | None) -> RunPlan | None:
    """A plan that is lost or of another version must not keep a file system from its end."""
    try:
        return RunPlan.model_validate_json(document.body) if document else None
    except ValidationError:
        logger.warning("the run's plan cannot be read; exporting within the default limit")
        return None


def _verdict(document: Document | None) -> dict[str, Any] | None:
    try:
        return certificates.answer_of(Certificate.model_validate_json(document.body)) if document else None
    except ValidationError:
        return None


def _last_verified_step(bucket: Bucket, prefix: RunPrefix) -> int | None:
    """For whoever is told about a file system that is kept. Nothing is decided by it."""
    try:
        return bookkeeping.read(bucket, prefix).last_verified_step
    except ValidationError:
        return None


def _described(found: FileSystem, plan: RunPlan | None) -> dict[str, Any]:
    since = kept.since(found.tags)
    return {
        "id": found.id,
        "arn": found.arn,
        "phase": found.reading.phase,
        "reason": found.reading.reason,
        "state": found.state,
        "dns_name": found.dns_name,
        "created_at": found.created_at.isoformat(timespec="milliseconds"),
        "kept_since": since.isoformat() if since else None,
        "usd_a_day": plan.rates.file_system_usd_a_day if plan and plan.rates else None,
    }


def _nothing(arn: str) -> dict[str, Any]:
    return {
        "known": False,
        "execution_arn": arn,
        "run": None,
        "job": None,
        "prefix": None,
        "started_at": None,
        "ended": None,
        "file_system": None,
        "others": [],
        "tasks": [],
        "certified": False,
        "verdict": None,
        "export_limit_seconds": None,
        "last_verified_step": None,
    }
