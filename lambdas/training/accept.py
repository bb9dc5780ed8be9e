"""May this run begin, and with what? Everything that can be refused is refused here, before anything costs money."""

from datetime import datetime
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from belay.aws import datasets, instances, resuming
from belay.aws.away import names_services_away
from belay.aws.bucket import Bucket
from belay.aws.clients import client
from belay.aws.environment import Environment
from belay.aws.telemetry import logger
from belay.contract.faults import JobRefused, parse_job
from belay.contract.job import Job
from belay.contract.messages.training import AcceptAnswer, AcceptQuestion
from belay.contract.paths import RunPrefix
from belay.contract.plan import ResumeFrom, RunPlan
from belay.contract.prices import Prices, Rates
from belay.contract.run import run_id
from belay.policy import requests
from belay.policy.budgets import bounds_of
from belay.policy.prices import rates_of


class Settings(Environment):
    bucket: str
    deployment: str
    instance_type: str
    dataset_buckets: str = ""
    prices: str = "{}"

    @property
    def foreign_buckets(self) -> frozenset[str]:
        return frozenset(name.strip() for name in self.dataset_buckets.split(",") if name.strip())


@logger.inject_lambda_context(clear_state=True)
@names_services_away
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    settings = Settings.read()
    question = AcceptQuestion.model_validate(event)
    run = run_id(question.execution_arn, question.started_at)
    logger.append_keys(run=run)

    job = parse_job(question.job)
    plan = _plan(Bucket(client("s3"), settings.bucket), question, job, run, settings)
    answer = AcceptAnswer(
        run=plan.run,
        scratch=requests.scratch(plan, settings.deployment),
        links=requests.links(plan, settings.deployment),
        task=requests.task(plan.job),
        limits=requests.limits_in_seconds(plan.job.limits),
        retry=plan.job.retry,
    )
    return answer.model_dump(mode="json")


def _plan(bucket: Bucket, question: AcceptQuestion, job: Job, run: str, settings: Settings) -> RunPlan:
    """The first answer stands: a retry must resume from the same checkpoint, whatever was saved since."""
    prefix = RunPrefix(job.name, run)

    def decide_once(before: bytes | None) -> bytes:
        if before:
            return before
        rates = rates_of(job, Prices.model_validate_json(settings.prices))
        until, resume, loss = _check(bucket, question, job, run, rates, settings)
        plan = RunPlan(
            run=run,
            execution_arn=question.execution_arn,
            started_at=question.started_at,
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
    bucket: Bucket, question: AcceptQuestion, job: Job, run: str, rates: Rates, settings: Settings
) -> tuple[datetime | None, ResumeFrom | None, float | None]:
    """Until when money may be spent, what is resumed from, and how much work may be lost."""
    until, resume, loss = None, None, None
    faults = datasets.faults_of(job.dataset, bucket, settings.foreign_buckets) + _instance_faults(job, settings)
    try:
        until, loss = bounds_of(job, rates, question.started_at)
    except JobRefused as refused:
        faults += refused.faults
    try:
        resume = resuming.choose(bucket, job, run)
    except JobRefused as refused:
        faults += refused.faults
    if faults:
        raise JobRefused(faults)
    return until, resume, loss


def _instance_faults(job: Job, settings: Settings) -> list[str]:
    found = instances.fit(client, job.resources, instance_type=settings.instance_type)
    for what in found.unchecked:
        logger.warning("Not checked", extra={"what": what})
    return found.faults
