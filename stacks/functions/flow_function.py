"""A Lambda that a flow asks, with the models of its question and its answer."""

from dataclasses import dataclass

from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from pydantic import BaseModel


@dataclass(frozen=True)
class FlowFunction:
    function: lambda_.Function
    question: type[BaseModel]
    answer: type[BaseModel]

    @property
    def version(self) -> lambda_.Version:
        """What is deployed now, under a name of its own: an execution is answered to its end by what it began with."""
        return self.function.current_version

    def every_version(self) -> iam.PolicyStatement:
        """A role is changed by a deployment, and executions from before it go on with the versions that they name."""
        return iam.PolicyStatement(actions=["lambda:InvokeFunction"], resources=[f"{self.function.function_arn}:*"])
