"""The first thing that a deployment does: it asks whether runs are alive that cannot go on with what is deployed."""

from aws_cdk import ArnFormat, Aws, CustomResource, Duration, Stack
from constructs import Construct

from belay.contract.deployment import parameter_name
from belay.contract.messages import MESSAGES_VERSION
from stacks.functions.factory import FunctionFactory
from stacks.functions.resources import allow, states_arn, teardown_name, train_name
from stacks.settings import Settings


class DeployCheck(Construct):
    """CloudFormation asks it where its properties change: at the first deployment, and for another version."""

    def __init__(self, scope: Construct, id: str, *, settings: Settings) -> None:
        super().__init__(scope, id)
        stack, parameter = Stack.of(self), parameter_name(settings.deployment)
        machines = [states_arn(stack, "stateMachine", name(settings)) for name in (train_name, teardown_name)]
        document = stack.format_arn(
            service="ssm",
            resource="parameter",
            resource_name=parameter.removeprefix("/"),
            arn_format=ArnFormat.SLASH_RESOURCE_NAME,
        )
        function = FunctionFactory(self, settings=settings, layer=None).function(
            "safety.deploy_check",
            allowed=[
                allow("ssm:GetParameter", document),
                allow("states:ListExecutions", *machines),
                allow("cloudformation:DescribeStacks", Aws.STACK_ID),
            ],
            timeout=Duration.minutes(2),
        )
        self.passed = CustomResource(
            self,
            "Passed",
            resource_type="Custom::DeployCheck",
            service_token=function.function_arn,
            # Without an answer, CloudFormation would wait for an hour.
            service_timeout=Duration.minutes(10),
            properties={
                "MessagesVersion": MESSAGES_VERSION,
                "DeployOverRuns": settings.deploy_over_runs,
                "Parameter": parameter,
                "TrainMachine": machines[0],
                "TeardownMachine": machines[1],
            },
        )

    def comes_before(self, *constructs: Construct) -> None:
        for construct in constructs:
            construct.node.add_dependency(self.passed)
