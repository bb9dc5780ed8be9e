"""Is a training task of this run (or of one attempt at it) alive, and has an instance taken it?"""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from lambdas.sense import phases, tasks
from lambdas.sense.clients import client
from lambdas.sense.environment import Environment
from lambdas.sense.phases import Phase, Reading
from lambdas.sense.telemetry import logger


class Settings(Environment):
    cluster: str
    trainer_family: str


@logger.inject_lambda_context(clear_state=True)
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    settings = Settings.read()
    attempt = event.get("attempt")
    known = tasks.known(
        client("ecs"),
        cluster=settings.cluster,
        family=settings.trainer_family,
        run=event["run"],
        attempt=attempt,
    )
    reading = phases.of_tasks([task.reading for task in known])
    # Who asks for an attempt has just started it; ECS may take a while to list it.
    if attempt is not None and not known:
        reading = Reading(Phase.PENDING, "ECS does not list the training task yet")
    return {
        "phase": reading.phase,
        "tasks": [task.arn for task in known if task.may_write],
        "reason": reading.reason,
    }
