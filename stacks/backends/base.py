"""What a compute back end must offer: it runs training tasks, and the words of its service stay inside it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from aws_cdk import Duration
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct, IConstruct

from belay.contract import task
from belay.contract.deployment import Tasks
from belay.contract.states import State
from stacks.flows.jsonata import Expression, Place
from stacks.flows.machine import Carrier
from stacks.flows.variables import WAIT_SECONDS, OfTrain
from stacks.functions.flow_function import FlowFunction
from stacks.network import Endpoints

# The trainer's image is built from here, whatever runs it.
IMAGE_CONTEXT = str(Path(__file__).parents[2])
IMAGE_FILE = "containers/trainer/Dockerfile"
# What a trainer gets between SIGTERM and SIGKILL, to save and commit. A Spot warning leaves two minutes in all.
STOP_TIMEOUT = Duration.seconds(110)
# What a training task is started with (containers/trainer/environment.py).
TRAINER_ENVIRONMENT = {
    task.RUN: OfTrain.run,
    task.NODE: "0",
    task.ATTEMPT: Expression(f"$string({OfTrain.attempt})"),
    task.ATTEMPT_BEGAN: OfTrain.attempt_began,
    task.WAITED_SECONDS: Expression(f"$string({OfTrain.start_polls} * {WAIT_SECONDS})"),
    task.SCRATCH_DNS: OfTrain.scratch.dns_name,
    task.SCRATCH_MOUNT_NAME: OfTrain.scratch.mount_name,
}


class Access(NamedTuple):
    """What a function needs for one use: the variables that belay/aws/backend.py reads, and what its role may do."""

    environment: Mapping[str, str]
    allowed: Sequence[iam.PolicyStatement]


class Finding(NamedTuple):
    """What AwsSolutions finds and the back end leaves as it is, with its reason."""

    at: IConstruct
    rule: str
    reason: str


class CarryingState(Carrier, sfn.IChainable, Protocol):
    """A state that brings the statements its machine's role needs."""

    def next(self, next: sfn.IChainable, /) -> sfn.Chain: ...

    def add_catch(self, handler: sfn.IChainable, /, *, errors: Sequence[str]) -> object: ...


class Backend(Protocol):
    endpoints: Endpoints
    """What its instances must reach where there is no internet."""

    @property
    def log_group(self) -> logs.ILogGroup:
        """Where each task has a stream of its own."""
        ...

    def start(self, scope: Construct) -> CarryingState:
        """The state `Run training`: it ends when the task ends, and fails with what belay/policy/judging.py reads."""
        ...

    def find_an_instance(self, scope: Construct) -> CarryingState:
        """The state `Find an instance`: it ends once an instance could take the task, and does nothing on it."""
        ...

    def watch(self, scope: Construct, *, training_phase: FlowFunction) -> tuple[sfn.IChainable, Carrier]:
        """Beside it: stops tasks that no instance takes within the limit. The flow's part, and what stops them."""
        ...

    def stop(self, scope: Construct, id: State, *, tasks: Place, reason: str) -> tuple[sfn.Map, Carrier]:
        """Tell each of these tasks to save and end. The flow's part, and what stops them."""
        ...

    def access_to_tasks(self) -> Access:
        """For functions that look for a run's tasks."""
        ...

    def access_to_instances(self) -> Access:
        """For functions that stop what trains on an instance."""
        ...

    def tasks(self) -> Tasks:
        """For clients that look for a run's tasks."""
        ...

    def findings(self) -> Sequence[Finding]: ...
