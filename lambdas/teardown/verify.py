"""Is everything that was finished on the file system whole in S3? Only then may it be deleted."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from belay.aws import clock, trainer_log, verification
from belay.aws.away import names_services_away
from belay.aws.bucket import Bucket
from belay.aws.clients import client
from belay.aws.environment import Environment
from belay.aws.telemetry import logger, tracer
from belay.contract.messages.teardown import VerifyAnswer, VerifyQuestion
from belay.contract.paths import RunPrefix

# An answer to a state machine has to stay small; the ledger in S3 has all of it.
_MOST_LINES = 20


class Settings(Environment):
    bucket: str
    trainer_log_group: str


@logger.inject_lambda_context(clear_state=True)
@tracer.capture_lambda_handler
@names_services_away
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    settings = Settings.read()
    question = VerifyQuestion.model_validate(event)
    logger.append_keys(run=question.run)
    bucket = Bucket(client("s3"), settings.bucket)
    prefix = RunPrefix(question.job, question.run)

    log = trainer_log.read(client("logs"), group=settings.trainer_log_group, run=question.run)
    log = trainer_log.with_exported_events(log, bucket, prefix)
    found = verification.verify(bucket, prefix, log, exported=question.exported, now=clock.now())
    logger.info("verified", extra={"whole": found.is_whole, "missing": found.missing, "source": found.source})
    answer = VerifyAnswer(
        whole=found.is_whole,
        last_verified_step=found.ledger.last_verified_step,
        missing=found.missing[-_MOST_LINES:],
    )
    return answer.model_dump(mode="json")
