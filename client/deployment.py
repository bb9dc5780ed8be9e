"""Finding a deployment of Belay in an account: what a client needs in order to start runs and to read them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

# boto3.client, or the same method of a session: the service's name in, its client out.
Clients = Callable[[str], Any]


class NotDeployed(Exception):
    """There is no such deployment in this account and Region."""


@dataclass(frozen=True)
class Deployment:
    train_machine_arn: str
    bucket: str
    trainer_log_group: str


def find(clients: Clients, name: str = "belay") -> Deployment:
    outputs = _outputs(clients, f"{name.title().replace('-', '')}Training")
    task = clients("ecs").describe_task_definition(taskDefinition=f"{name}-trainer")["taskDefinition"]
    return Deployment(
        train_machine_arn=outputs["TrainMachineArn"],
        bucket=outputs["BucketName"],
        trainer_log_group=task["containerDefinitions"][0]["logConfiguration"]["options"]["awslogs-group"],
    )


def _outputs(clients: Clients, stack: str) -> dict[str, str]:
    try:
        described = clients("cloudformation").describe_stacks(StackName=stack)["Stacks"][0]
    except ClientError as error:
        if error.response["Error"]["Code"] != "ValidationError":
            raise
        raise NotDeployed(
            f"no stack {stack} in this account and Region; deploy it with 'npx cdk deploy --all'"
        ) from None
    return {output["OutputKey"]: output["OutputValue"] for output in described.get("Outputs", [])}
