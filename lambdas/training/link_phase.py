"""Is this link of the file system to S3 there, and does the mount show the names and sizes of what S3 holds?"""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from belay.aws import scratch
from belay.aws.away import names_services_away
from belay.aws.clients import client
from belay.aws.environment import Environment
from belay.aws.telemetry import logger
from belay.contract.messages.probes import LinkPhaseQuestion, Phase, ProbeAnswer


class Settings(Environment):
    bucket: str


@logger.inject_lambda_context(clear_state=True)
@names_services_away
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    settings = Settings.read()
    question = LinkPhaseQuestion.model_validate(event)
    reading = scratch.link(client("fsx"), question.file_system_id, question.association_id)
    if reading.phase is Phase.FAILED:
        # Without S3 every link fails. Once S3 answers, this one is made again.
        client("s3").head_bucket(Bucket=settings.bucket)
    return ProbeAnswer(phase=reading.phase, reason=reading.reason).model_dump(mode="json")
