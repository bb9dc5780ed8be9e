"""Is a training task of this run (or of one attempt at it) alive, and has an instance taken it?"""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from lambdas.sense import phases, tasks
from lambdas.sense.clients import client
from lambdas.sense.environment import Environment
from lambdas.sense.telemetry import logger


class Settings(Environment):
    cluster: str
    trainer_family: str


@logger.inject_lambda_context(clear_state=True)
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    settings = Settings.read()
    alive = tasks.alive(
        client("ecs"),
        cluster=settings.cluster,
        family=settings.trainer_family,
        run=event["run"],
        attempt=event.get("attempt"),
    )
    reading = phases.of_tasks([task.reading for task in alive])
    return {"phase": reading.phase, "tasks": [task.arn for task in alive], "reason": reading.reason}
