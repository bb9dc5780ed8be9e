"""How far is an export task? Ready says that FSx is done, not that S3 holds everything: that is `verify`."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from belay.aws import scratch
from belay.aws.away import names_services_away
from belay.aws.clients import client
from belay.aws.telemetry import logger
from belay.contract.messages.probes import ExportPhaseQuestion, ProbeAnswer


@logger.inject_lambda_context(clear_state=True)
@names_services_away
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    question = ExportPhaseQuestion.model_validate(event)
    reading = scratch.export_task(client("fsx"), question.task_id)
    return ProbeAnswer(phase=reading.phase, reason=reading.reason).model_dump(mode="json")
