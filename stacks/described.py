"""The document about the deployment, where every client finds it by the deployment's name alone."""

from aws_cdk import Stack
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from belay.contract.deployment import Deployment, parameter_name


def describe(scope: Construct, deployment: Deployment) -> ssm.StringParameter:
    return ssm.StringParameter(
        scope,
        "Deployment",
        parameter_name=parameter_name(deployment.name),
        description="What Belay's command line reads: where everything of this deployment is",
        string_value=Stack.of(scope).to_json_string(deployment.model_dump(mode="json")),
    )
