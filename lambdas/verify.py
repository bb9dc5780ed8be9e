"""Is everything that was finished on the file system whole in S3? Only then may it be deleted."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext
from pydantic import BaseModel

from contract.paths import RunPrefix
from lambdas.sense import clock, verification, witness
from lambdas.sense.bucket import Bucket
from lambdas.sense.clients import client
from lambdas.sense.environment import Environment
from lambdas.sense.telemetry import logger, tracer

# What goes back into a state machine has to stay small; the ledger in S3 has all of it.
_MOST_STEPS = 50
_MOST_LINES = 20


class Settings(Environment):
    bucket: str
    trainer_log_group: str


class Question(BaseModel):
    job: str
    run: str
    exported: bool = False


@logger.inject_lambda_context(clear_state=True)
@tracer.capture_lambda_handler
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    settings = Settings.read()
    question = Question.model_validate(event)
    logger.append_keys(run=question.run)
    bucket = Bucket(client("s3"), settings.bucket)
    prefix = RunPrefix(question.job, question.run)

    told = witness.from_log(client("logs"), group=settings.trainer_log_group, run=question.run)
    told = witness.with_exported_events(told, bucket, prefix)
    found = verification.verify(bucket, prefix, told, exported=question.exported, now=clock.now())
    logger.info("verified", extra={"whole": found.is_whole, "missing": found.missing, "witness": found.witness})
    return {
        "whole": found.is_whole,
        "nothing_saved": found.nothing_saved,
        "last_verified_step": found.ledger.last_verified_step,
        "verified": sum(1 for entry in found.ledger.entries if entry.verified_at),
        "expected_steps": [one.step for one in found.expected][-_MOST_STEPS:],
        "missing": found.missing[-_MOST_LINES:],
        "witness": found.witness,
    }
