"""Are the file system's links to S3 there, all of them, and is what lies in S3 seen through them?"""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from lambdas.sense import phases, scratch
from lambdas.sense.clients import client
from lambdas.sense.phases import Phase
from lambdas.sense.telemetry import logger


@logger.inject_lambda_context(clear_state=True)
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    links = scratch.links(client("fsx"), event["file_system_id"])
    reading = scratch.reading_of(None) if links is None else phases.of_links(links, expected=event["expected"])
    if reading.phase is Phase.READY:
        # Only now FSx runs the tasks that show what lies in S3. Until they end, files are missing.
        reading = phases.of_imports(scratch.imports(client("fsx"), event["file_system_id"])) or reading
    return {"phase": reading.phase, "reason": reading.reason}
