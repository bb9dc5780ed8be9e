"""What happens to the GPU task, as states: run, watched until it has an instance, stopped."""

from typing import Any

from aws_cdk import Aws
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct

from contract import stop_reasons
from stacks.compute import Compute
from stacks.functions import Functions
from stacks.workflow.calls import AwsCall
from stacks.workflow.poll import Poll


class RunTraining(sfn.CustomState):
    """`ecs:runTask.sync`: starts the trainer, scaling from zero, and ends when it ends, with the truth about how.

    CDK's EcsRunTask can neither give a task its GPUs at run time nor be held to stopping tasks of this cluster only.
    """

    def __init__(self, scope: Construct, *, compute: Compute) -> None:
        market = f"$task.spot ? '{compute.spot_provider}' : '{compute.on_demand_provider}'"
        super().__init__(
            scope,
            "Run training",
            state_json={
                "Type": "Task",
                "QueryLanguage": "JSONata",
                "Resource": f"arn:{Aws.PARTITION}:states:::ecs:runTask.sync",
                "TimeoutSeconds": "{% $limits.train %}",
                "Arguments": {
                    "Cluster": compute.cluster.cluster_arn,
                    "TaskDefinition": compute.trainer.task_definition_arn,
                    # No LaunchType: with one, the capacity provider would not scale out from zero.
                    "CapacityProviderStrategy": [{"CapacityProvider": f"{{% {market} %}}", "Weight": 1}],
                    # One job per instance: no job meets another's GPUs, page cache or credentials.
                    "PlacementConstraints": [{"Type": "distinctInstance"}],
                    "Overrides": {"ContainerOverrides": [_override(compute.container_name)]},
                },
                "Output": {},
            },
        )
        self.allowed_by = compute.may_run_training()


def _override(container_name: str) -> dict[str, Any]:
    environment = {
        "BELAY_RUN": "{% $run %}",
        "BELAY_ATTEMPT": "{% $string($attempt) %}",
        "BELAY_ATTEMPT_BEGAN": "{% $states.context.State.EnteredTime %}",
        "BELAY_SCRATCH_DNS": "{% $scratch.dns_name %}",
        "BELAY_SCRATCH_MOUNT_NAME": "{% $scratch.mount_name %}",
    }
    return {
        "Name": container_name,
        "Cpu": "{% $task.Cpu %}",
        "Memory": "{% $task.Memory %}",
        "ResourceRequirements": "{% $task.ResourceRequirements %}",
        "Environment": [{"Name": name, "Value": value} for name, value in environment.items()],
    }


def watch_capacity(scope: Construct, *, compute: Compute, functions: Functions) -> tuple[sfn.IChainable, AwsCall]:
    """Beside the training: if no instance takes the task within its limit, stop it. A task that nobody can place
    would otherwise wait until the training's own limit, while the file system costs money."""
    stop_all, stop = stop_tasks(
        scope,
        "Give up waiting",
        tasks="$states.input.tasks",
        reason=f"{stop_reasons.NO_CAPACITY} within the limit",
        compute=compute,
    )
    unwatched = sfn.Pass.jsonata(scope, "Capacity not watched", comment="The watch may fail; training goes on.")
    placed = Poll(
        scope,
        "Instance",
        function=functions.training_phase,
        question={"run": "{% $run %}", "attempt": "{% $attempt %}"},
        every_seconds=30,
        within_seconds="$limits.capacity",
        until=("ready", "gone"),
        otherwise=stop_all,
        counter="capacity_polls",
    )
    stop_all.add_catch(unwatched, errors=["States.ALL"])
    return placed, stop


def stop_tasks(scope: Construct, id: str, *, tasks: str, reason: str, compute: Compute) -> tuple[sfn.Map, AwsCall]:
    stop = AwsCall(
        scope,
        f"{id}: stop task",
        service="ecs",
        action="stopTask",
        arguments={"Cluster": compute.cluster.cluster_arn, "Task": "{% $states.input %}", "Reason": reason},
        allowed_by=[compute.may_stop_tasks()],
    )
    each = sfn.Map.jsonata(scope, id, items=sfn.ProvideItems.jsonata(f"{{% {tasks} %}}"), outputs={})
    each.item_processor(stop)
    return each, stop
