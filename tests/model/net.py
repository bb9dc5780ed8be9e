"""Train, its teardown, rescue and sweep, and the world, together: what may happen next, whoever does it."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from tests.model import fsx, functions, s3
from tests.model.clients import JOB_FILE
from tests.model.definition import Machine, load
from tests.model.interpreter import enter, steps
from tests.model.standing import Answer, Context, Done, Fault, Frame, Move, awaited
from tests.model.surroundings import CHILD, Surroundings
from tests.model.values import EMPTY, Frozen, freeze
from tests.model.world import End, World

DATA = Frozen({"datasets/digits/one": b"an image"})
# What the rescue rule asks the teardown.
ORDER = Frozen({"execution_arn": s3.TRAIN, "asked_by": "the rescue"})
SLOTS = ("first", "second")


class Teardown(NamedTuple):
    """One teardown execution. `slot` makes its name; two may run at the same time."""

    slot: str
    is_child: bool
    input: Frozen
    frame: Frame


class System(NamedTuple):
    """`rescue` is what EventBridge owes; `cut`: StopExecution was used; `swept`: the world's hash at the last sweep."""

    train: Frame | None
    teardowns: tuple[Teardown, ...] = ()
    world: World = World()
    rescue: str = "nothing"
    cut: bool = False
    swept: int | None = None
    turn: int = 0


class Step(NamedTuple):
    """One thing that may happen to the system; `cost` counts the faults in it.

    `maybe`: which of these it is depends on what the search does not know of the past. `told`: what is seen of it.
    """

    label: str
    cost: int
    to: System
    maybe: bool = False
    told: str = ""


class Net:
    """The definitions and the rescue rule as they are deployed, acted out on the model's world."""

    def __init__(
        self, definitions: Mapping[str, Any], rescued: frozenset[str], around: Surroundings, *, pruned: bool = True
    ) -> None:
        self.train: Machine = load("train", definitions["Train"], pruned=pruned)
        self.teardown: Machine = load("teardown", definitions["Teardown"], pruned=pruned)
        self._rescued = rescued
        self.around = around

    def begin(self) -> System:
        frame = enter(self.train.block, self.train.block.start, freeze(JOB_FILE), EMPTY)
        return System(frame, world=World(s3=DATA))

    # ---- one execution goes on

    def train_steps(self, system: System) -> Iterator[Step]:
        assert system.train is not None
        began = s3.STARTED_AT.isoformat()
        execution = {"Id": s3.TRAIN, "Name": "first", "StartTime": began, "Input": JOB_FILE}
        # Without a clock every state is entered at once.
        values = {"Execution": execution, "State": {"EnteredTime": began}}
        context = Context(freeze(values), "train", self.around)
        for move in steps(self.train.block, system.train, context, system.world):
            told = _told("Train", move)
            yield Step(move.label, move.cost, self._after_train(system, move), move.maybe, told)

    def teardown_steps(self, system: System, index: int) -> Iterator[Step]:
        for move in self.teardown_moves(system.teardowns[index], system.world):
            told = _told("Teardown", move)
            yield Step(move.label, move.cost, self.after_teardown(system, index, move), move.maybe, told)

    def teardown_moves(self, one: Teardown, world: World) -> Iterator[Move]:
        """What this teardown may do, whoever else there is."""
        values = {"Execution": {"Id": teardown_arn(one.slot), "Name": one.slot, "Input": one.input}}
        context = Context(freeze(values), one.slot, self.around)
        for move in steps(self.teardown.block, one.frame, context, world):
            yield move._replace(label="\n".join(f"  {one.slot}: {line}" for line in move.label.split("\n")))

    def _after_train(self, system: System, move: Move) -> System:
        if isinstance(move.to, Frame):
            return self._started(system._replace(train=move.to, world=move.world))
        return self._train_ended(system._replace(world=move.world), _end(move.to))

    def _train_ended(self, system: System, end: End) -> System:
        owes = "rescue" if end.status in self._rescued else "nothing"
        world = system.world._replace(train=end, child=None)
        orphaned = tuple(one._replace(is_child=False) for one in system.teardowns)
        return self._started(system._replace(train=None, teardowns=orphaned, world=_trimmed(world), rescue=owes))

    def after_teardown(self, system: System, index: int, move: Move) -> System:
        one = system.teardowns[index]
        if isinstance(move.to, Frame):
            on = (*system.teardowns[:index], one._replace(frame=move.to), *system.teardowns[index + 1 :])
            return system._replace(teardowns=on, world=_trimmed(move.world))
        return self._teardown_ended(system._replace(world=move.world), index, _end(move.to))

    def _teardown_ended(self, system: System, index: int, end: End) -> System:
        one = system.teardowns[index]
        left = (*system.teardowns[:index], *system.teardowns[index + 1 :])
        world = fsx.let_go(system.world, one.slot)._replace(teardowns=tuple(other.slot for other in left))
        if one.is_child and system.train is not None:
            world = world._replace(child=end)
        return system._replace(teardowns=left, world=_trimmed(world))

    def _started(self, system: System) -> System:
        """What the last call asked to start or to stop."""
        if system.world.starting is None:
            return system
        (why, order), world = system.world.starting, system.world._replace(starting=None)
        system = system._replace(world=world)
        if why == "stop":
            index = next((i for i, one in enumerate(system.teardowns) if one.slot == self._child_of(system)), None)
            return system if index is None else self._teardown_ended(system, index, End("ABORTED"))
        return self.start(system, order, is_child=why == CHILD)

    def _child_of(self, system: System) -> str | None:
        return next((one.slot for one in system.teardowns if one.is_child), SLOTS[0])

    def start(self, system: System, order: Frozen, *, is_child: bool = False) -> System:
        """Another teardown, if there is room for it in the model."""
        taken = {one.slot for one in system.teardowns} | set(system.world.teardowns)
        slot = next((one for one in SLOTS if one not in taken), None)
        if slot is None:
            return system
        new = Teardown(slot, is_child, order, enter(self.teardown.block, self.teardown.block.start, order, EMPTY))
        running = (*system.teardowns, new)
        world = system.world._replace(teardowns=tuple(one.slot for one in running))
        return system._replace(teardowns=running, world=world)

    # ---- what happens to executions from outside

    def cut_off(self, system: System, status: str) -> Iterator[Step]:
        """Train is stopped, or its own time is over: nothing in it runs any more."""
        assert system.train is not None
        waiting = awaited(system.train)
        stops = self.around.stopped(waiting[0], system.world) if waiting else iter([Answer("", 0, system.world, None)])
        for stop in stops:
            after = system._replace(world=stop.world, cut=True)
            yield Step(f"Train {status}{stop.label}", stop.cost, self._train_ended(after, End(status)))

    def stop_teardown(self, system: System, index: int) -> Step:
        label = f"  {system.teardowns[index].slot}: the teardown is stopped"
        return Step(label, 1, self._teardown_ended(system, index, End("ABORTED")))

    def rescue(self, system: System) -> System:
        return self.start(system._replace(rescue="nothing"), ORDER)

    def tidied(self, system: System) -> System:
        return system._replace(world=_trimmed(system.world))

    def sweep(self, system: System) -> System | None:
        """None if the sweep finds nothing to do."""
        world, answer = functions.ask("sweep", EMPTY, system.world)
        assert not isinstance(answer, Fault), answer
        if world.starting is None:
            return None
        return self._started(system._replace(world=world))


def teardown_arn(slot: str) -> str:
    return f"{s3.TEARDOWNS.replace('stateMachine', 'execution')}:{slot}"


def _end(standing: Done | Fault) -> End:
    if isinstance(standing, Done):
        return End("SUCCEEDED", output=standing.output)
    return End("FAILED", standing.error, standing.cause)


def _told(who: str, move: Move) -> str:
    """A call that failed; how an execution ended, and what file systems are there then."""
    if isinstance(move.to, Frame):
        return move.label.partition("\n")[0] if "is refused" in move.label else ""
    end = _end(move.to)
    left = ", ".join(f"{one.id} {one.lifecycle}" for one in move.world.file_systems)
    return f"{who} {end.status} {end.error} {end.cause} {end.output}; {left}"


def _trimmed(world: World) -> World:
    """Once Train has ended nobody asks any more how its tasks did."""
    if world.train is None:
        return world
    alive = tuple(one._replace(code="", reason="", exit=None) for one in world.trainings if one.may_write)
    return world._replace(trainings=alive)
