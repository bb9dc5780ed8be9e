"""What happens to the training task, as states: run, watched until it has an instance, stopped."""

from collections.abc import Sequence
from typing import Protocol

from aws_cdk import Aws
from aws_cdk import aws_iam as iam
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct

from belay.contract import stop_reasons
from belay.contract.messages.probes import Phase, TrainingPhaseAnswer
from belay.contract.run import NODES
from belay.contract.states import State, TrainState
from belay.contract.task import CONTAINER
from belay.policy.ecs_words import RUN_TASK_REFUSED_FOR_NOW, RUN_TASK_TRANSIENT
from stacks.backends.base import TRAINER_ENVIRONMENT
from stacks.flows.calls import AwsCall, add_retries
from stacks.flows.jsonata import Expression, Place, condition, given, rendered
from stacks.flows.poll import Poll
from stacks.flows.variables import OfTrain
from stacks.functions.flow_function import FlowFunction

# At most 64 characters.
_TOKEN_OF_ATTEMPT = (
    f"$substring($hash($states.context.Execution.Id, 'SHA-256'), 0, 48) & '-' & $string({OfTrain.attempt})"
)


class RunTraining(sfn.CustomState):
    """`ecs:runTask.sync`: starts the trainer, scaling from zero, and ends when it ends, with the truth about how.

    CDK's EcsRunTask can neither give a task its GPUs at run time nor be held to stopping tasks of this cluster only.

    A call that was throttled, or whose reply was lost, is repeated: by its token ECS knows the task that it started.
    """

    def __init__(
        self,
        scope: Construct,
        *,
        cluster_arn: str,
        task_definition_arn: str,
        provider: Expression,
        with_token: bool,
        allowed_by: Sequence[iam.PolicyStatement],
    ) -> None:
        override = {
            "Name": CONTAINER,
            "Cpu": OfTrain.task.Cpu,
            "Memory": OfTrain.task.Memory,
            "ResourceRequirements": OfTrain.task.ResourceRequirements,
            "Environment": [{"Name": name, "Value": value} for name, value in TRAINER_ENVIRONMENT.items()],
        }
        super().__init__(
            scope,
            TrainState.RUN_TRAINING,
            state_json={
                "Type": "Task",
                "QueryLanguage": "JSONata",
                "Resource": f"arn:{Aws.PARTITION}:states:::ecs:runTask.sync",
                "TimeoutSeconds": condition(OfTrain.limits.train),
                "Arguments": {
                    "Cluster": cluster_arn,
                    "TaskDefinition": task_definition_arn,
                    # [?] AWS does not say which parameters this integration passes on. If it refuses this one, so does
                    # `cdk deploy`, and the setting run_task_token leaves it out.
                    **({"ClientToken": condition(_TOKEN_OF_ATTEMPT)} if with_token else {}),
                    # No LaunchType: with one, the capacity provider would not scale out from zero.
                    "CapacityProviderStrategy": [{"CapacityProvider": condition(provider), "Weight": 1}],
                    # One job per instance: no job meets another's GPUs, page cache or credentials.
                    "PlacementConstraints": [{"Type": "distinctInstance"}],
                    "Overrides": {"ContainerOverrides": [rendered(override)]},
                },
                "Output": {},
            },
        )
        self.allowed_by = allowed_by
        add_retries(self, errors=RUN_TASK_TRANSIENT if with_token else RUN_TASK_REFUSED_FOR_NOW)


class Stop(Protocol):
    def __call__(self, scope: Construct, id: State, *, tasks: Place, reason: str) -> tuple[sfn.Map, AwsCall]: ...


def watch_capacity(scope: Construct, *, stop: Stop, training_phase: FlowFunction) -> tuple[sfn.IChainable, AwsCall]:
    """Beside the training: if no instance takes the task within its limit, stop it. A task that nobody can place
    would otherwise wait until the training's own limit, while the file system costs money."""
    stop_all, stop_one = stop(
        scope,
        TrainState.GIVE_UP_WAITING,
        tasks=given(TrainingPhaseAnswer).tasks,
        reason=f"{stop_reasons.NO_CAPACITY} within the limit",
    )
    unwatched = sfn.Pass.jsonata(
        scope, TrainState.CAPACITY_NOT_WATCHED, comment="The watch may fail; training goes on."
    )
    placed = Poll(
        scope,
        TrainState.INSTANCE,
        function=training_phase,
        question={"run": OfTrain.run, "attempt": OfTrain.attempt, "expected": NODES},
        every_seconds=30,
        within_seconds=OfTrain.limits.capacity,
        until=(Phase.READY, Phase.GONE),
        otherwise=stop_all,
        counter="capacity_polls",
    )
    stop_all.add_catch(unwatched, errors=["States.ALL"])
    return placed, stop_one


def stop_tasks(
    scope: Construct,
    id: State,
    *,
    tasks: Place,
    reason: str,
    cluster_arn: str,
    allowed_by: Sequence[iam.PolicyStatement],
) -> tuple[sfn.Map, AwsCall]:
    stop = AwsCall(
        scope,
        f"{id}: stop task",
        service="ecs",
        action="stopTask",
        arguments={"Cluster": cluster_arn, "Task": Expression("$states.input"), "Reason": reason},
        allowed_by=allowed_by,
    )
    each = sfn.Map.jsonata(scope, id, items=sfn.ProvideItems.jsonata(condition(tasks)), outputs={})
    each.item_processor(stop)
    return each, stop
