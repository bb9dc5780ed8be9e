"""Finding a deployment of Belay in an account: what a client needs in order to start runs and to read them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from contract.prices import Prices

# boto3.client, or the same method of a session: the service's name in, its client out.
Clients = Callable[[str], Any]


class NotDeployed(Exception):
    """There is no such deployment in this account and Region."""


@dataclass(frozen=True)
class Deployment:
    train_machine_arn: str
    bucket: str
    trainer_log_group: str
    name: str = "belay"

    @property
    def teardown_machine_arn(self) -> str:
        return f"{self.train_machine_arn.removesuffix('-train')}-teardown"


def find(clients: Clients, name: str = "belay") -> Deployment:
    outputs = _outputs(clients, _stack(name))
    task = clients("ecs").describe_task_definition(taskDefinition=f"{name}-trainer")["taskDefinition"]
    return Deployment(
        train_machine_arn=outputs["TrainMachineArn"],
        bucket=outputs["BucketName"],
        trainer_log_group=task["containerDefinitions"][0]["logConfiguration"]["options"]["awslogs-group"],
        name=name,
    )


def prices(clients: Clients, deployment: Deployment) -> Prices:
    """What the deployment was told; the function that accepts jobs has it."""
    return Prices.model_validate_json(_variables(clients, deployment, "accept")["BELAY_PRICES"])


def notices_topic(clients: Clients, deployment: Deployment) -> str:
    return _variables(clients, deployment, "pump")["BELAY_NOTICES_TOPIC_ARN"]


def cluster_of(clients: Clients, deployment: Deployment) -> str:
    """The ECS cluster that trains; its name is its stack's."""
    arns = [arn for page in clients("ecs").get_paginator("list_clusters").paginate() for arn in page["clusterArns"]]
    own = [arn for arn in arns if arn.split("/")[-1].startswith(f"{_stack(deployment.name)}-")]
    if len(own) != 1:
        raise NotDeployed(f"expected one ECS cluster of {_stack(deployment.name)}, found {len(own)}")
    return str(own[0])


def _variables(clients: Clients, deployment: Deployment, function: str) -> dict[str, str]:
    told = clients("lambda").get_function_configuration(FunctionName=f"{deployment.name}-{function}")
    variables: dict[str, str] = told["Environment"]["Variables"]
    return variables


def _stack(name: str) -> str:
    """As app.py calls it."""
    return f"{'-'.join(word.capitalize() for word in name.split('-'))}Training"


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
