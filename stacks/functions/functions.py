"""The Lambdas: one for each question, each with a role of its own that can answer it and do nothing else."""

from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sns as sns
from constructs import Construct

from stacks.backends.base import Backend
from stacks.functions.factory import FunctionFactory
from stacks.functions.layer import dependencies
from stacks.functions.resources import Resources
from stacks.functions.safety import SafetyFunctions
from stacks.functions.teardown import TeardownFunctions
from stacks.functions.training import TrainingFunctions
from stacks.ownership import Ownership
from stacks.settings import Settings


class Functions(Construct):
    """By the flow that asks them, each named for its question."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        bucket: s3.IBucket,
        key: kms.IKey | None,
        backend: Backend,
        ownership: Ownership,
        notices: sns.ITopic,
        settings: Settings,
    ) -> None:
        super().__init__(scope, id)
        make = FunctionFactory(self, settings=settings, layer=dependencies(self, "Dependencies"))
        resources = Resources(
            self, bucket=bucket, key=key, backend=backend, ownership=ownership, notices=notices, settings=settings
        )
        self.training = TrainingFunctions(make, resources)
        self.teardown = TeardownFunctions(make, resources)
        self.safety = SafetyFunctions(make, resources)
        asked = (self.training.accept, self.teardown.find, self.teardown.verify, self.teardown.certify)
        alone = (self.safety.sweep, self.safety.pump, self.safety.reread)
        resources.decrypt_for([*(one.function for one in asked), *alone])

    @property
    def all(self) -> list[lambda_.Function]:
        return [child for child in self.node.children if isinstance(child, lambda_.Function)]
