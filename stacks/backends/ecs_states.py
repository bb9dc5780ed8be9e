"""What happens to the training task, as states: run, watched until it has an instance, stopped."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from aws_cdk import Aws
from aws_cdk import aws_iam as iam
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct

from belay.contract import stop_reasons
from belay.contract.messages.probes import Phase, TrainingPhaseAnswer
from belay.contract.run import NODES
from belay.contract.states import State, TrainState
from belay.contract.task import CONTAINER, ONLY_START, RUN
from belay.policy.ecs_words import RUN_TASK_REFUSED_FOR_NOW, RUN_TASK_TRANSIENT
from stacks.backends.base import TRAINER_ENVIRONMENT
from stacks.flows.calls import AwsCall, add_retries
from stacks.flows.jsonata import Expression, Place, condition, given, rendered
from stacks.flows.poll import Poll
from stacks.flows.variables import OfTrain
from stacks.functions.flow_function import FlowFunction

# ECS itself stops a task that has waited for capacity "between 10 and 30 minutes" (AWS blog, "Deep Dive on Amazon ECS
# Cluster Auto Scaling").
_FIND_INSTANCE_SECONDS = 900


def _token(name: str) -> str:
    """At most 64 characters."""
    return f"$substring($hash($states.context.Execution.Id, 'SHA-256'), 0, 48) & '-' & {name}"


class TrainerTask(NamedTuple):
    """What each task is started with, whatever for."""

    cluster_arn: str
    task_definition_arn: str
    provider: Expression
    with_token: bool
    allowed_by: Sequence[iam.PolicyStatement]


class RunTask(sfn.CustomState):
    """`ecs:runTask.sync`: starts the trainer, scaling from zero, and ends when it ends, with the truth about how.

    CDK's EcsRunTask can neither give a task its GPUs at run time nor be held to stopping tasks of this cluster only.

    A call that was throttled, or whose reply was lost, is repeated: by its token ECS knows the task that it started.
    """

    def __init__(
        self,
        scope: Construct,
        id: TrainState,
        *,
        task: TrainerTask,
        token: str,
        override: Mapping[str, object],
        timeout_seconds: Expression | int,
    ) -> None:
        needs = {
            "Name": CONTAINER,
            "Cpu": OfTrain.task.Cpu,
            "Memory": OfTrain.task.Memory,
            "ResourceRequirements": OfTrain.task.ResourceRequirements,
        }
        super().__init__(
            scope,
            id,
            state_json={
                "Type": "Task",
                "QueryLanguage": "JSONata",
                "Resource": f"arn:{Aws.PARTITION}:states:::ecs:runTask.sync",
                "TimeoutSeconds": rendered(timeout_seconds),
                "Arguments": {
                    "Cluster": task.cluster_arn,
                    "TaskDefinition": task.task_definition_arn,
                    # [?] AWS does not say which parameters this integration passes on. If it refuses this one, so does
                    # `cdk deploy`, and the setting run_task_token leaves it out.
                    **({"ClientToken": condition(_token(token))} if task.with_token else {}),
                    # No LaunchType: with one, the capacity provider would not scale out from zero.
                    "CapacityProviderStrategy": [{"CapacityProvider": condition(task.provider), "Weight": 1}],
                    # One job per instance: no job meets another's GPUs, page cache or credentials.
                    "PlacementConstraints": [{"Type": "distinctInstance"}],
                    "Overrides": {"ContainerOverrides": [rendered({**needs, **override})]},
                },
                "Output": {},
            },
        )
        self.allowed_by = task.allowed_by
        add_retries(self, errors=RUN_TASK_TRANSIENT if task.with_token else RUN_TASK_REFUSED_FOR_NOW)


def run_training(scope: Construct, task: TrainerTask) -> RunTask:
    return RunTask(
        scope,
        TrainState.RUN_TRAINING,
        task=task,
        token=f"$string({OfTrain.attempt})",
        override={"Environment": _environment(TRAINER_ENVIRONMENT)},
        timeout_seconds=OfTrain.limits.train,
    )


def find_an_instance(scope: Construct, task: TrainerTask) -> RunTask:
    """The trainer's task, which ends at once: that it could start shows that there is an instance, with its image."""
    return RunTask(
        scope,
        TrainState.FIND_AN_INSTANCE,
        task=task,
        token=f"'find-' & $string({OfTrain.start_polls})",
        override={"Command": [ONLY_START], "Environment": _environment({RUN: OfTrain.run})},
        timeout_seconds=_FIND_INSTANCE_SECONDS,
    )


def _environment(values: Mapping[str, object]) -> list[dict[str, object]]:
    return [{"Name": name, "Value": value} for name, value in values.items()]


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
