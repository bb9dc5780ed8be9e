"""How far is the file system? Asked while it is created, and while it is deleted."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from belay.aws import scratch
from belay.aws.away import names_services_away
from belay.aws.clients import client
from belay.aws.telemetry import logger
from belay.contract.messages.probes import ScratchPhaseAnswer, ScratchPhaseQuestion


@logger.inject_lambda_context(clear_state=True)
@names_services_away
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    question = ScratchPhaseQuestion.model_validate(event)
    found = scratch.by_id(client("fsx"), question.file_system_id)
    reading = scratch.reading_of(found)
    answer = ScratchPhaseAnswer(
        phase=reading.phase,
        reason=reading.reason,
        dns_name=found.dns_name if found else None,
        mount_name=found.mount_name if found else None,
    )
    return answer.model_dump(mode="json")
