"""Makes a Lambda with a role and a log of its own; the grants it is given are all it has."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from aws_cdk import Duration, IgnoreMode, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from stacks.settings import Settings

_REPOSITORY = Path(__file__).parents[2]
# Only our own code, so nothing compiled is in it; and nothing of what only the command line uses.
_CODE = [
    "**",
    "!lambdas/**",
    "!belay/**",
    "belay/cli/**",
    "belay/client/**",
    "belay/report/**",
    "belay/contract/facts.py",
    "**/__pycache__",
]


class FunctionFactory:
    """All functions share one archive, and those of one factory a layer."""

    def __init__(self, scope: Construct, *, settings: Settings, layer: lambda_.ILayerVersion | None) -> None:
        self._scope, self._settings = scope, settings
        self._layers = [layer] if layer else []
        self._code = lambda_.Code.from_asset(str(_REPOSITORY), exclude=_CODE, ignore_mode=IgnoreMode.DOCKER)

    def function(
        self,
        module: str,
        *,
        allowed: Sequence[iam.PolicyStatement],
        environment: Mapping[str, str] | None = None,
        memory_mib: int = 256,
        timeout: Duration | None = None,
    ) -> lambda_.Function:
        """`module`: below lambdas/, as in "training.accept"."""
        name = module.split(".")[1]
        log_group = logs.LogGroup(
            self._scope, f"{name}-log", retention=self._settings.log_retention, removal_policy=RemovalPolicy.DESTROY
        )
        role = iam.Role(self._scope, f"{name}-role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
        log_group.grant_write(role)
        function = lambda_.Function(
            self._scope,
            name,
            function_name=f"{self._settings.deployment}-{name.replace('_', '-')}",
            runtime=lambda_.Runtime.PYTHON_3_14,
            architecture=lambda_.Architecture.ARM_64,
            code=self._code,
            handler=f"lambdas.{module}.handler",
            layers=self._layers,
            role=role,
            log_group=log_group,
            # An execution names the versions that it began with. One that was made by a deployment that failed goes
            # away with it: Lambda makes no second version of the same code, and the next try would fail.
            current_version_options=lambda_.VersionOptions(removal_policy=RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE),
            tracing=lambda_.Tracing.ACTIVE,
            memory_size=memory_mib,
            timeout=timeout or Duration.minutes(1),
            environment={
                "POWERTOOLS_SERVICE_NAME": self._settings.deployment,
                "POWERTOOLS_METRICS_NAMESPACE": "Belay",
                **(environment or {}),
            },
        )
        for statement in allowed:
            function.add_to_role_policy(statement)
        return function
