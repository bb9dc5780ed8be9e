"""What is left of a run? Teardown asks this first, and relies on nothing that an earlier state remembered."""

from datetime import timedelta
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext
from pydantic import ValidationError

from belay.aws import backend, executions, ledgers, scratch
from belay.aws.away import names_services_away
from belay.aws.bucket import Bucket, Document
from belay.aws.clients import client
from belay.aws.environment import Environment
from belay.aws.executions import Execution
from belay.aws.telemetry import logger
from belay.contract import kept, tags
from belay.contract.certificate import Certificate
from belay.contract.job import Limits
from belay.contract.messages.teardown import CertifyAnswer, FindAnswer, FindQuestion, FoundFileSystem
from belay.contract.paths import RunPrefix
from belay.contract.plan import RunPlan
from belay.contract.run import RUN, execution_digest, started_at_of
from belay.contract.verdict import Ending
from belay.policy import certificates, judging
from belay.policy.file_system import FileSystem

_CLOCKS_DIFFER_BY = timedelta(minutes=5)


class Settings(Environment):
    bucket: str
    deployment: str


@logger.inject_lambda_context(clear_state=True)
@names_services_away
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    settings = Settings.read()
    arn = FindQuestion.model_validate(event).execution_arn
    return _found(arn, settings).model_dump(mode="json")


def _found(arn: str, settings: Settings) -> FindAnswer:
    execution = executions.describe(client("stepfunctions"), arn)
    wanted = {tags.DEPLOYMENT: settings.deployment, tags.EXECUTION: execution_digest(arn)}
    file_systems = [one for one in scratch.tagged(client("fsx"), wanted) if not _is_older_than_its_run(one, execution)]
    first = file_systems[0] if file_systems else None
    bucket = Bucket(client("s3"), settings.bucket)
    prefix = _prefix(arn, execution, first)

    # A refused job left nothing: no plan, no file system, and perhaps not even a name.
    document = bucket.read(prefix.plan) if prefix else None
    if prefix is None or (first is None and document is None):
        return FindAnswer(known=False)
    plan = _plan(document)
    logger.append_keys(run=prefix.run)
    if file_systems[1:]:
        logger.warning("the run has other file systems too", extra={"others": [one.id for one in file_systems[1:]]})
    started_at = execution.started_at if execution else started_at_of(prefix.run)
    tasks = backend.connect().tasks_of(prefix.run)
    is_empty = first is not None and first.state == tags.State.EMPTY and not tasks
    ended = _ended(execution, is_empty)
    certificate = bucket.read(prefix.certificate)
    return FindAnswer(
        known=True,
        run=prefix.run,
        job=prefix.job,
        started_at=started_at,
        ended=ended,
        file_system=_described(first, plan, is_empty) if first else None,
        tasks=[task.id for task in tasks if task.may_write],
        certified=certificate is not None and (first is not None or not certificates.says_kept(certificate.body)),
        # For a second teardown of a run that is over: the first one's answer stands.
        verdict=None if first else _verdict(certificate),
        # As the job asked.
        export_limit_seconds=(plan.job.limits if plan else Limits()).export,
        last_verified_step=_last_verified_step(bucket, prefix),
    )


def _is_older_than_its_run(file_system: FileSystem, execution: Execution | None) -> bool:
    """Then no run of ours made it: our tags were put on one that was there before, and it is not ours to delete."""
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


def _ended(execution: Execution | None, is_empty: bool) -> Ending | None:
    """None while the execution runs: then Train itself knows how training ended, and says it."""
    ending = execution.ending if execution else judging.NOT_ON_RECORD
    if ending and is_empty:
        return judging.never_started(ending)
    return ending


def _plan(document: Document | None) -> RunPlan | None:
    """A plan that is lost or of another version must not keep a file system from its end."""
    try:
        return RunPlan.model_validate_json(document.body) if document else None
    except ValidationError:
        logger.warning("the run's plan cannot be read; exporting within the default limit")
        return None


def _verdict(document: Document | None) -> CertifyAnswer | None:
    try:
        return certificates.answer_of(Certificate.model_validate_json(document.body)) if document else None
    except ValidationError:
        return None


def _last_verified_step(bucket: Bucket, prefix: RunPrefix) -> int | None:
    """For the notice about a kept file system. Nothing is decided by it."""
    try:
        return ledgers.read(bucket, prefix).last_verified_step
    except ValidationError:
        return None


def _described(found: FileSystem, plan: RunPlan | None, is_empty: bool) -> FoundFileSystem:
    """A tag may be seen late. What still says `empty`, though a task has mounted it, may hold work."""
    may_hold_work = found.state == tags.State.EMPTY and not is_empty
    return FoundFileSystem(
        id=found.id,
        state=tags.State.IN_USE if may_hold_work else found.state,
        created_at=found.created_at,
        kept_since=kept.since(found.tags),
        usd_a_day=plan.rates.file_system_usd_a_day if plan and plan.rates else None,
    )
