"""ECS as the back end: a cluster that is empty, and so free, until a job comes; and the task that trains."""

from collections.abc import Sequence

from aws_cdk import CfnElement, RemovalPolicy
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_logs as logs
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct

from belay.contract.deployment import Tasks
from belay.contract.states import State
from stacks.backends.base import Access, Finding
from stacks.backends.ecs_grants import Grants
from stacks.backends.ecs_instances import capacity_provider, instance_role
from stacks.backends.ecs_states import (
    RunTask,
    TrainerTask,
    find_an_instance,
    run_training,
    stop_tasks,
    watch_capacity,
)
from stacks.backends.ecs_task import trainer_task
from stacks.flows.calls import AwsCall
from stacks.flows.jsonata import Expression, Place
from stacks.flows.variables import OfTrain
from stacks.functions.flow_function import FlowFunction
from stacks.network import Endpoints, Network
from stacks.settings import Settings

_AGENT = "The ECS agent's own actions, as CDK grants them to instances."
_BEFORE_THE_CONTAINER = "ecr:GetAuthorizationToken and the log stream, before the container starts."
_UNKNOWN_IDS = "The ids are not known before a job runs; the condition on the cluster holds the statement to our own."


class EcsBackend(Construct):
    """Two capacity providers, on demand and Spot, each scaling from zero; one task definition for all jobs."""

    endpoints: Endpoints = {
        "Ecs": ec2.InterfaceVpcEndpointAwsService.ECS,
        "EcsAgent": ec2.InterfaceVpcEndpointAwsService.ECS_AGENT,
        "EcsTelemetry": ec2.InterfaceVpcEndpointAwsService.ECS_TELEMETRY,
        "EcrApi": ec2.InterfaceVpcEndpointAwsService.ECR,
        "EcrDocker": ec2.InterfaceVpcEndpointAwsService.ECR_DOCKER,
    }

    def __init__(self, scope: Construct, id: str, *, network: Network, settings: Settings) -> None:
        super().__init__(scope, id)
        self._run_task_token = settings.run_task_token
        self.family = f"{settings.deployment}-trainer"
        self.cluster = ecs.Cluster(
            self, "Cluster", vpc=network.vpc, container_insights_v2=ecs.ContainerInsights.ENABLED
        )
        self._may = Grants(self.cluster)
        self.log_group = logs.LogGroup(
            self, "TrainerLog", retention=settings.log_retention, removal_policy=RemovalPolicy.DESTROY
        )
        self._instance_role = instance_role(self, any_task_arn=self._may.any_task_arn, log_group=self.log_group)
        providers = [
            capacity_provider(self, market, spot=spot, role=self._instance_role, network=network, settings=settings)
            for market, spot in (("OnDemand", False), ("Spot", True))
        ]
        for provider in providers:
            self.cluster.add_asg_capacity_provider(provider)
        self.on_demand_provider, self.spot_provider = (one.capacity_provider_name for one in providers)
        self.trainer = trainer_task(self, family=self.family, log_group=self.log_group)

    def start(self, scope: Construct) -> RunTask:
        return run_training(scope, self._task())

    def find_an_instance(self, scope: Construct) -> RunTask:
        return find_an_instance(scope, self._task())

    def _task(self) -> TrainerTask:
        return TrainerTask(
            cluster_arn=self.cluster.cluster_arn,
            task_definition_arn=self.trainer.task_definition_arn,
            provider=Expression(f"{OfTrain.task.spot} ? '{self.spot_provider}' : '{self.on_demand_provider}'"),
            with_token=self._run_task_token,
            allowed_by=self._may.run(self.trainer, family=self.family),
        )

    def watch(self, scope: Construct, *, training_phase: FlowFunction) -> tuple[sfn.IChainable, AwsCall]:
        return watch_capacity(scope, stop=self.stop, training_phase=training_phase)

    def stop(self, scope: Construct, id: State, *, tasks: Place, reason: str) -> tuple[sfn.Map, AwsCall]:
        return stop_tasks(
            scope,
            id,
            tasks=tasks,
            reason=reason,
            cluster_arn=self.cluster.cluster_arn,
            allowed_by=[self._may.stop_tasks()],
        )

    def access_to_tasks(self) -> Access:
        return Access(
            {"BELAY_CLUSTER": self.cluster.cluster_arn, "BELAY_TRAINER_FAMILY": self.family},
            [self._may.list_tasks(), self._may.describe_tasks()],
        )

    def access_to_instances(self) -> Access:
        return Access(
            {"BELAY_CLUSTER": self.cluster.cluster_arn},
            [self._may.list_instances(), self._may.list_tasks(), self._may.stop_tasks()],
        )

    def tasks(self) -> Tasks:
        return Tasks(cluster_arn=self.cluster.cluster_arn, family=self.family)

    def findings(self) -> Sequence[Finding]:
        here = "arn:<AWS::Partition>:ecs:<AWS::Region>:<AWS::AccountId>"
        cluster = self.cluster.node.default_child
        assert isinstance(cluster, CfnElement)
        tasks = f"{here}:task/<{cluster.stack.resolve(cluster.logical_id)}>/*"
        definitions = f"{here}:task-definition/{self.family}:*"
        return [
            Finding(self._instance_role, "IAM5[Resource::*]", _AGENT),
            Finding(self._instance_role, "IAM5[Action::ecs:Submit*]", _AGENT),
            Finding(self.trainer.obtain_execution_role(), "IAM5[Resource::*]", _BEFORE_THE_CONTAINER),
            *(Finding(cluster.stack, f"IAM5[Resource::{arn}]", _UNKNOWN_IDS) for arn in (tasks, definitions)),
        ]
