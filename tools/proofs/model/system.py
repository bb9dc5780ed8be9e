"""The whole system: Train, teardowns, rescue, sweep and AWS; its states and the steps between them."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from tools.proofs.model import fsx, functions, s3
from tools.proofs.model.aws_state import AwsState, End
from tools.proofs.model.clients import JOB_FILE
from tools.proofs.model.definition import Block, Machine, load
from tools.proofs.model.environment import CHILD, AwsEnvironment
from tools.proofs.model.execution import Answer, Context, Done, Fault, Frame, Move, awaited
from tools.proofs.model.interpreter import enter, steps
from tools.proofs.model.values import EMPTY, Frozen, freeze

DATASET = Frozen({"datasets/digits/one": b"an image"})
# The input that the rescue rule gives a teardown.
RESCUE_INPUT = Frozen({"execution_arn": s3.TRAIN, "asked_by": "the rescue"})
SLOTS = ("first", "second")


class Teardown(NamedTuple):
    """One teardown execution. `slot` makes its name; two may run at the same time."""

    slot: str
    is_child: bool
    input: Frozen
    frame: Frame


class System(NamedTuple):
    """`event_pending`: EventBridge has not started the rescue yet; `stopped`: StopExecution was used on Train; `swept`:
    the hash of AWS's state at the last sweep; `turn`: which teardown moves next on a schedule."""

    train: Frame | None
    teardowns: tuple[Teardown, ...] = ()
    aws: AwsState = AwsState()
    event_pending: bool = False
    stopped: bool = False
    swept: int | None = None
    turn: int = 0


class Step(NamedTuple):
    """One thing that may happen to the system; `cost` counts the faults in it.

    `maybe`: whether it can happen depends on what the search does not count. `observed`: what is visible of it from
    outside, for comparing flows.
    """

    label: str
    cost: int
    to: System
    maybe: bool = False
    observed: str = ""


class Model:
    """The flows and the rescue rule as deployed, as a transition system."""

    slots = SLOTS
    first_slots: tuple[str, ...] = SLOTS[:1]
    """Those of Train's own teardown."""

    def __init__(
        self,
        definitions: Mapping[str, Any],
        rescued: frozenset[str],
        environment: AwsEnvironment,
        *,
        pruned: bool = True,
        most_teardowns: int = 2,
    ) -> None:
        self.train: Machine = load("train", definitions["Train"], pruned=pruned)
        self.teardown: Machine = load("teardown", definitions["Teardown"], pruned=pruned)
        self._rescued = rescued
        self.environment = environment
        self.most_teardowns = most_teardowns

    def begin(self) -> System:
        frame = enter(self.train.block, self.train.block.start, freeze(JOB_FILE), EMPTY)
        return System(frame, aws=AwsState(s3=DATASET))

    # ---- steps of one execution

    def train_steps(self, system: System) -> Iterator[Step]:
        assert system.train is not None
        began = s3.STARTED_AT.isoformat()
        execution = {"Id": s3.TRAIN, "Name": "first", "StartTime": began, "Input": JOB_FILE}
        # There is no clock: every state is entered at the start.
        values = {"Execution": execution, "State": {"EnteredTime": began}}
        context = Context(freeze(values), "train", self.environment)
        for move in steps(self.train.block, system.train, context, system.aws):
            observed = _observed("Train", move)
            yield Step(move.label, move.cost, self._after_train(system, move), move.maybe, observed)

    def teardown_steps(self, system: System, index: int) -> Iterator[Step]:
        for move in self.teardown_moves(system.teardowns[index], system.aws):
            observed = _observed("Teardown", move)
            yield Step(move.label, move.cost, self.after_teardown(system, index, move), move.maybe, observed)

    def teardown_moves(self, one: Teardown, aws: AwsState) -> Iterator[Move]:
        """The moves of one teardown, which do not depend on the others."""
        values = {"Execution": {"Id": teardown_arn(one.slot), "Name": one.slot, "Input": one.input}}
        context = Context(freeze(values), one.slot, self.environment)
        for move in steps(self.block_of(one.slot), one.frame, context, aws):
            yield move._replace(label="\n".join(f"  {one.slot}: {line}" for line in move.label.split("\n")))

    def _after_train(self, system: System, move: Move) -> System:
        if isinstance(move.to, Frame):
            return self._started(system._replace(train=move.to, aws=move.aws))
        return self._train_ended(system._replace(aws=move.aws), _end(move.to))

    def _train_ended(self, system: System, end: End) -> System:
        aws = system.aws._replace(train=end, child=None)
        orphaned = tuple(one._replace(is_child=False) for one in system.teardowns)
        return self._started(
            system._replace(
                train=None, teardowns=orphaned, aws=_without_old_tasks(aws), event_pending=end.status in self._rescued
            )
        )

    def after_teardown(self, system: System, index: int, move: Move) -> System:
        one = system.teardowns[index]
        if isinstance(move.to, Frame):
            on = (*system.teardowns[:index], one._replace(frame=move.to), *system.teardowns[index + 1 :])
            return system._replace(teardowns=on, aws=_without_old_tasks(move.aws))
        return self._teardown_ended(system._replace(aws=move.aws), index, _end(move.to))

    def _teardown_ended(self, system: System, index: int, end: End) -> System:
        one = system.teardowns[index]
        left = (*system.teardowns[:index], *system.teardowns[index + 1 :])
        aws = fsx.release(system.aws, one.slot)._replace(teardowns=tuple(other.slot for other in left))
        if one.is_child and system.train is not None:
            aws = aws._replace(child=end)
        return system._replace(teardowns=left, aws=_without_old_tasks(aws))

    def _started(self, system: System) -> System:
        """Starts or stops what the last call asked for."""
        if system.aws.starting is None:
            return system
        (why, order), aws = system.aws.starting, system.aws._replace(starting=None)
        system = system._replace(aws=aws)
        if why == "stop":
            index = next((i for i, one in enumerate(system.teardowns) if one.slot == self._child_of(system)), None)
            return system if index is None else self._teardown_ended(system, index, End("ABORTED"))
        return self.start(system, order, is_child=why == CHILD)

    def _child_of(self, system: System) -> str | None:
        children = [one.slot for one in system.teardowns if one.is_child]
        return next(iter(children or [one.slot for one in system.teardowns if one.slot in self.first_slots]), None)

    def start(self, system: System, order: Frozen, *, is_child: bool = False) -> System:
        """Another teardown, unless the model has its most already."""
        taken = {one.slot for one in system.teardowns} | set(system.aws.teardowns)
        slot = next((one for one in self.slots if one not in taken), None)
        if slot is None:
            return system
        block = self.block_of(slot)
        new = Teardown(slot, is_child, order, enter(block, block.start, order, EMPTY))
        running = (*system.teardowns, new)
        aws = system.aws._replace(teardowns=tuple(one.slot for one in running))
        return system._replace(teardowns=running, aws=aws)

    def block_of(self, slot: str) -> Block:
        """The definition that this teardown runs."""
        return self.teardown.block

    # ---- stops and starts from outside

    def stop_train(self, system: System, status: str) -> Iterator[Step]:
        """Train is stopped or times out: nothing in it runs any more."""
        assert system.train is not None
        waiting = awaited(system.train)
        stops = self.environment.stopped(waiting[0], system.aws) if waiting else iter([Answer("", 0, system.aws, None)])
        for stop in stops:
            after = system._replace(aws=stop.aws, stopped=True)
            yield Step(f"Train {status}{stop.label}", stop.cost, self._train_ended(after, End(status)))

    def stop_teardown(self, system: System, index: int) -> Step:
        label = f"  {system.teardowns[index].slot}: the teardown is stopped"
        return Step(label, 1, self._teardown_ended(system, index, End("ABORTED")))

    def rescue(self, system: System) -> System:
        return self.start(system._replace(event_pending=False), RESCUE_INPUT)

    def without_old_tasks(self, system: System) -> System:
        return system._replace(aws=_without_old_tasks(system.aws))

    def sweep(self, system: System) -> System | None:
        """None if the sweep finds nothing."""
        aws, answer = functions.ask("sweep", EMPTY, system.aws)
        assert not isinstance(answer, Fault), answer
        if aws.starting is None:
            return None
        return self._started(system._replace(aws=aws))


def teardown_arn(slot: str) -> str:
    return f"{s3.TEARDOWNS.replace('stateMachine', 'execution')}:{slot}"


def _end(position: Done | Fault) -> End:
    if isinstance(position, Done):
        return End("SUCCEEDED", output=position.output)
    return End("FAILED", position.error, position.cause)


def _observed(who: str, move: Move) -> str:
    """A call that failed; or how an execution ended, with the file systems that exist then."""
    if isinstance(move.to, Frame):
        return move.label.partition("\n")[0] if "is refused" in move.label else ""
    end = _end(move.to)
    left = ", ".join(f"{one.id} {one.lifecycle}" for one in move.aws.file_systems)
    return f"{who} {end.status} {end.error} {end.cause} {end.output}; {left}"


def _without_old_tasks(aws: AwsState) -> AwsState:
    """Once Train has ended, nothing reads how its tasks ended."""
    if aws.train is None:
        return aws
    alive = tuple(one._replace(code="", reason="", exit=None) for one in aws.trainings if one.may_write)
    return aws._replace(trainings=alive)
