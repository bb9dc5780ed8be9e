"""May this run begin, and with what? Everything that can be refused is refused here, before anything costs money."""

from datetime import datetime
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext
from pydantic import BaseModel

from contract.bounds import bounds_of
from contract.faults import JobRefused, parse_job
from contract.job import Job
from contract.paths import RunPrefix
from contract.plan import ResumeFrom, RunPlan
from contract.prices import Prices, Rates, rates_of
from contract.run import execution_digest, run_id
from lambdas.sense import datasets, requests, resuming
from lambdas.sense.bucket import Bucket
from lambdas.sense.clients import client
from lambdas.sense.environment import Environment
from lambdas.sense.telemetry import logger


class Settings(Environment):
    bucket: str
    deployment: str
    dataset_buckets: str = ""
    prices: str = "{}"

    @property
    def foreign_buckets(self) -> frozenset[str]:
        return frozenset(name.strip() for name in self.dataset_buckets.split(",") if name.strip())


class Request(BaseModel):
    job: Any
    execution_arn: str
    started_at: datetime


@logger.inject_lambda_context(clear_state=True)
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    settings = Settings.read()
    request = Request.model_validate(event)
    run = run_id(request.execution_arn, request.started_at)
    logger.append_keys(run=run)

    job = parse_job(request.job)
    plan = _plan(Bucket(client("s3"), settings.bucket), request, job, run, settings)
    return {
        "run": plan.run,
        "job": plan.job.name,
        "execution": execution_digest(plan.execution_arn),
        "prefix": plan.prefix,
        "bucket": plan.bucket,
        "started_at": plan.model_dump(mode="json")["started_at"],
        "scratch": requests.scratch(plan, settings.deployment),
        "links": requests.links(plan),
        "task": requests.task(plan.job),
        "limits": requests.limits_in_seconds(plan.job),
        "retry": plan.job.retry.model_dump(),
    }


def _plan(bucket: Bucket, request: Request, job: Job, run: str, settings: Settings) -> RunPlan:
    """The first answer stands: a retry must resume from the same checkpoint, whatever was saved since."""
    prefix = RunPrefix(job.name, run)

    def decide_once(before: bytes | None) -> bytes:
        if before:
            return before
        rates = rates_of(job, Prices.model_validate_json(settings.prices))
        until, resume, loss = _check(bucket, request, job, run, rates, settings.foreign_buckets)
        plan = RunPlan(
            run=run,
            execution_arn=request.execution_arn,
            started_at=request.started_at,
            bucket=bucket.name,
            prefix=prefix.root,
            job=job,
            resume=resume,
            rates=rates,
            spend_until=until,
            max_loss_seconds=loss,
        )
        return plan.model_dump_json(indent=1).encode()

    return RunPlan.model_validate_json(bucket.update(prefix.plan, decide_once))


def _check(
    bucket: Bucket, request: Request, job: Job, run: str, rates: Rates, foreign_buckets: frozenset[str]
) -> tuple[datetime | None, ResumeFrom | None, float | None]:
    """Until when money may be spent, what is resumed from, and how much work may be lost."""
    until, resume, loss = None, None, None
    faults = datasets.faults_of(job.dataset, bucket, foreign_buckets)
    try:
        until, loss = bounds_of(job, rates, request.started_at)
    except JobRefused as refused:
        faults += refused.faults
    try:
        resume = resuming.choose(bucket, job, run)
    except JobRefused as refused:
        faults += refused.faults
    if faults:
        raise JobRefused(faults)
    return until, resume, loss
