"""A Lambda that a flow asks, with the models of its question and its answer."""

from dataclasses import dataclass

from aws_cdk import aws_lambda as lambda_
from pydantic import BaseModel


@dataclass(frozen=True)
class FlowFunction:
    function: lambda_.Function
    question: type[BaseModel]
    answer: type[BaseModel]
