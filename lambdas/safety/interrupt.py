"""A Spot instance goes in two minutes. Nothing else asks its tasks to save, so this does."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext
from pydantic import BaseModel, Field

from belay.aws import backend
from belay.aws.telemetry import logger
from belay.contract import stop_reasons


class Warned(BaseModel):
    """EC2 Spot Instance Interruption Warning. It comes for every Spot instance of the account."""

    # Part of a query: nothing but an id may get into it.
    instance: str = Field(alias="instance-id", pattern=r"^i-[0-9a-f]{8,32}$")


@logger.inject_lambda_context(clear_state=True)
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    warned = Warned.model_validate(event["detail"])
    training = backend.connect()
    tasks = training.tasks_on(warned.instance)
    for task in tasks:
        training.stop(task, reason=f"{stop_reasons.INTERRUPTION}: Spot takes back {warned.instance}")
    if tasks:
        logger.info("tasks were asked to save and stop", extra={"instance": warned.instance, "tasks": tasks})
    return {"stopped": tasks}
