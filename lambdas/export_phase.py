"""How far is an export task? Ready says that FSx is done, not that S3 holds everything: that is `verify`."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from lambdas.sense import scratch
from lambdas.sense.clients import client
from lambdas.sense.telemetry import logger


@logger.inject_lambda_context(clear_state=True)
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    reading = scratch.export_task(client("fsx"), event["task_id"])
    return {"phase": reading.phase, "reason": reading.reason}
