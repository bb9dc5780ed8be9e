"""Each minute, for every living file system: prove what is in S3, and export what is not. So a loss costs minutes."""

from datetime import datetime
from typing import Any

from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext
from pydantic import ValidationError

from contract import tags
from contract.ledger import Ledger
from contract.paths import EXPORTED_CHECKPOINTS, RunPrefix
from contract.plan import RunPlan
from contract.prices import spent_usd
from lambdas.sense import attention, bookkeeping, clock, notices, pumping, scratch, verification, witness
from lambdas.sense.bucket import Bucket
from lambdas.sense.clients import client
from lambdas.sense.environment import Environment
from lambdas.sense.exceptions import PumpFailed
from lambdas.sense.phases import Phase
from lambdas.sense.pumping import Action
from lambdas.sense.scratch import FileSystem
from lambdas.sense.telemetry import logger, metrics, tracer


class Settings(Environment):
    bucket: str
    deployment: str
    trainer_log_group: str
    notices_topic_arn: str


@logger.inject_lambda_context(clear_state=True)
@metrics.log_metrics
@tracer.capture_lambda_handler
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    settings = Settings.read()
    wanted = {tags.DEPLOYMENT: settings.deployment, tags.STATE: tags.State.IN_USE}
    living = [one for one in scratch.tagged(client("fsx"), wanted) if one.reading.phase is Phase.READY]
    served, failed = [], []
    for file_system in living:
        try:
            served.append(_serve(file_system, settings, clock.now()))
        except client("fsx").exceptions.FileSystemNotFound:
            # Teardown was quicker, and it verifies before it deletes.
            logger.info("the file system went away while we looked", extra={"file_system": file_system.id})
        except Exception as error:
            # One run's trouble must not cost another its export. It is not hidden: the round ends as an error.
            logger.exception("could not serve a file system", extra={"file_system": file_system.id})
            failed.append(f"{file_system.id}: {error}")
    metrics.add_metric(name="LivingFileSystems", unit=MetricUnit.Count, value=len(living))
    if failed:
        raise PumpFailed("; ".join(failed))
    return {"file_systems": served}


def _serve(file_system: FileSystem, settings: Settings, now: datetime) -> dict[str, Any]:
    run = file_system.tags[tags.RUN]
    prefix = RunPrefix(file_system.tags[tags.JOB], run)
    bucket = Bucket(client("s3"), settings.bucket)
    told = witness.from_log(client("logs"), group=settings.trainer_log_group, run=run)

    ledger = bookkeeping.read(bucket, prefix)
    due = pumping.due(told.standing, ledger)
    if due:
        before, ledger = ledger, verification.verify_some(bucket, prefix, due, now=now)
        _measure_lag(before, ledger)
        due = pumping.due(told.standing, ledger)

    running = bool(due) and scratch.export_running(client("fsx"), file_system.id)
    plan = _plan(bucket, prefix)
    max_loss_seconds = plan.max_loss_seconds if plan else None
    rests = max_loss_seconds is not None and pumping.may_rest(ledger, max_loss_seconds=max_loss_seconds, now=now)
    decision = pumping.decide(file_system.id, due, task_running=running, now=now, rests=rests)
    task_id = None
    if decision.action is Action.EXPORT and decision.token:
        task_id = scratch.start_export(
            client("fsx"), file_system.id, paths=[EXPORTED_CHECKPOINTS], token=decision.token
        )
    if task_id:
        bookkeeping.note_export(bucket, prefix, due, now)
    if max_loss_seconds is not None:
        _measure_risk(ledger, max_loss_seconds, now)
    # What rests by plan is not late.
    late = {} if rests else due
    metrics.add_metric(name="OldestUnverifiedSeconds", unit=MetricUnit.Seconds, value=pumping.oldest_seconds(late, now))
    spent = _spent_percent(plan, now)
    if spent is not None:
        metrics.add_metric(name="BudgetSpentPercent", unit=MetricUnit.Percent, value=spent)
    for what, notice in attention.due(prefix, ledger, late, max_loss_seconds, spent, now).items():
        if notices.tell(client("sns"), settings.notices_topic_arn, notice):
            bookkeeping.note_told(bucket, prefix, what, now)
    answer = {
        "id": file_system.id,
        "run": run,
        "action": decision.action,
        "task_id": task_id,
        "due_steps": sorted(due),
        "last_verified_step": ledger.last_verified_step,
    }
    logger.info("pumped", extra=answer)
    return answer


def _plan(bucket: Bucket, prefix: RunPrefix) -> RunPlan | None:
    plan = bucket.read(prefix.plan)
    try:
        return RunPlan.model_validate_json(plan.body) if plan else None
    except ValidationError:
        # One of another version, or damaged: what it asks for is unknown, its checkpoints are exported all the same.
        logger.warning("the plan of the run cannot be read", extra={"plan": prefix.plan})
        return None


def _spent_percent(plan: RunPlan | None, now: datetime) -> float | None:
    if plan is None or plan.rates is None or plan.job.limits.budget_usd is None:
        return None
    spent = spent_usd(plan.rates, now - plan.started_at)
    return None if spent is None else 100 * spent / plan.job.limits.budget_usd


def _measure_risk(ledger: Ledger, max_loss_seconds: float, now: datetime) -> None:
    since = pumping.safe_until(ledger)
    if since is None:
        return
    seconds = (now - since).total_seconds()
    metrics.add_metric(name="WorkAtRiskSeconds", unit=MetricUnit.Seconds, value=seconds)
    if seconds > max_loss_seconds:
        logger.warning("more is at risk than max_loss allows", extra={"at_risk": seconds, "max_loss": max_loss_seconds})


def _measure_lag(before: Ledger, after: Ledger) -> None:
    """From a checkpoint's commit on the mount to its proof in S3: what a lost file server would have cost."""
    known = {(entry.step, entry.verified_at) for entry in before.entries}
    for entry in after.entries:
        if entry.verified_at and entry.written_at and (entry.step, entry.verified_at) not in known:
            lag = (entry.verified_at - entry.written_at).total_seconds()
            metrics.add_metric(name="ExportLagSeconds", unit=MetricUnit.Seconds, value=max(lag, 0.0))
