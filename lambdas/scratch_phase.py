"""How far is the file system? Waits for its beginning and for its end ask the same."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from lambdas.sense import scratch
from lambdas.sense.clients import client
from lambdas.sense.telemetry import logger


@logger.inject_lambda_context(clear_state=True)
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    found = scratch.by_id(client("fsx"), event["file_system_id"])
    reading = scratch.reading_of(found)
    return {
        "phase": reading.phase,
        "dns_name": found.dns_name if found else None,
        "mount_name": found.mount_name if found else None,
        "reason": reading.reason,
    }
