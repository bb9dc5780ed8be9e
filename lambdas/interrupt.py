"""A Spot instance goes in two minutes. ECS leaves tasks like ours alone, so they are told to save from here."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext
from pydantic import BaseModel, Field

from contract import stop_reasons
from lambdas.sense.clients import client
from lambdas.sense.environment import Environment
from lambdas.sense.telemetry import logger


class Settings(Environment):
    cluster: str


class Warned(BaseModel):
    """EC2 Spot Instance Interruption Warning. It comes for every Spot instance of the account."""

    # Part of a query: nothing but an id may get into it.
    instance: str = Field(alias="instance-id", pattern=r"^i-[0-9a-f]{8,32}$")


@logger.inject_lambda_context(clear_state=True)
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    settings = Settings.read()
    warned = Warned.model_validate(event["detail"])
    ecs = client("ecs")
    stopped = [_stop(ecs, settings.cluster, task, warned) for task in _tasks_on(ecs, settings.cluster, warned)]
    if stopped:
        logger.info("tasks were told to save and stop", extra={"instance": warned.instance, "tasks": stopped})
    return {"stopped": stopped}


def _tasks_on(ecs: Any, cluster: str, warned: Warned) -> list[str]:
    instances = ecs.list_container_instances(cluster=cluster, filter=f"ec2InstanceId == {warned.instance}")
    return [
        arn
        for instance in instances["containerInstanceArns"]
        for page in ecs.get_paginator("list_tasks").paginate(cluster=cluster, containerInstance=instance)
        for arn in page["taskArns"]
    ]


def _stop(ecs: Any, cluster: str, task: str, warned: Warned) -> str:
    ecs.stop_task(cluster=cluster, task=task, reason=f"{stop_reasons.INTERRUPTION}: Spot takes back {warned.instance}")
    return task
