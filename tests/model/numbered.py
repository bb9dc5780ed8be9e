"""The states of the search in numbers: worlds and executions are many times the same, and what one may do in one world
is worked out once, whoever else there is.
"""

from collections.abc import Callable, Hashable, Iterator
from typing import Generic, NamedTuple, TypeVar

from tests.model import alike, anything, properties
from tests.model.interpreter import Frame
from tests.model.net import SLOTS, Net, Step, System, Teardown
from tests.model.world import World

NOBODY = -1
Thing = TypeVar("Thing", bound=Hashable)


class Numbered(NamedTuple):
    """Who stands where, and in which world."""

    train: int
    teardowns: tuple[int, ...]
    world: int


class Arrow(NamedTuple):
    label: str
    cost: int
    to: Numbered


class Table(Generic[Thing]):
    """Each thing once, by its number."""

    def __init__(self) -> None:
        self._numbers: dict[Thing, int] = {}
        self.things: list[Thing] = []

    def number(self, thing: Thing) -> int:
        known = self._numbers.get(thing)
        if known is None:
            known = self._numbers[thing] = len(self.things)
            self.things.append(thing)
        return known


class Steps:
    def __init__(self, net: Net) -> None:
        self._net = net
        self._trains: Table[Frame] = Table()
        self._teardowns: Table[Teardown] = Table()
        self._worlds: Table[World] = Table()
        self._known: dict[Hashable, list[Arrow]] = {}
        self._places: dict[int, tuple[int, str]] = {}
        self._mirrors: dict[int, int] = {}

    def of(self, state: Numbered) -> Iterator[Arrow]:
        """Everything that may happen; of what leads to the same state, the way with the fewest faults."""
        found: dict[Numbered, Arrow] = {}
        for arrow in self._of(state):
            if arrow.to != state and (arrow.to not in found or arrow.cost < found[arrow.to].cost):
                found[arrow.to] = arrow
        yield from found.values()

    def _of(self, state: Numbered) -> Iterator[Arrow]:
        train, running, world = state
        if train != NOBODY:
            yield from map(self._arrow, anything.steps(self._net, self.system(state)))
            return
        # Teardowns, and what happens by itself, see each other only through the world.
        for one in running:
            others = tuple(other for other in running if other != one)
            for label, cost, to in self._once(anything.of_executions, (one,), world):
                yield Arrow(label, cost, self._ordered((*to.teardowns, *others), to.world))
        for label, cost, to in self._once(anything.by_itself, (), world):
            yield Arrow(label, cost, self._ordered(running, to.world))
        yield from map(self._arrow, anything.starts(self._net, self.system(state)))

    def _once(self, ask: Callable[[Net, System], Iterator[Step]], running: tuple[int, ...], world: int) -> list[Arrow]:
        """As they are, not yet in order: that depends on who else runs."""
        key = (ask, running, world)
        if key not in self._known:
            found: dict[Numbered, Arrow] = {}
            for step in ask(self._net, self.system(Numbered(NOBODY, running, world))):
                to = self._number(step.to)
                if to not in found or step.cost < found[to].cost:
                    found[to] = Arrow(step.label, step.cost, to)
            self._known[key] = list(found.values())
        return self._known[key]

    # ---- from values to numbers and back

    def number(self, system: System) -> Numbered:
        train, running, world = self._number(system)
        return self._ordered(running, world)._replace(train=train)

    def system(self, state: Numbered) -> System:
        train = None if state.train == NOBODY else self._trains.things[state.train]
        running = tuple(self._teardowns.things[one] for one in state.teardowns)
        return System(train, running, self._worlds.things[state.world])

    def _number(self, system: System) -> Numbered:
        system = alike.canonical(held_to_the_truth(system))
        train = NOBODY if system.train is None else self._trains.number(system.train)
        running = tuple(self._teardowns.number(one) for one in system.teardowns)
        return Numbered(train, running, self._worlds.number(system.world))

    def _arrow(self, step: Step) -> Arrow:
        return Arrow(step.label, step.cost, self.number(step.to))

    # ---- two teardowns are equals

    def _ordered(self, running: tuple[int, ...], world: int) -> Numbered:
        """Which of both is called the first does not matter, as long as one is."""
        order = sorted(running, key=self._place)
        slots = SLOTS[: len(order)]
        if tuple(self._place(one)[1] for one in order) != slots:
            order = [self._moved(one, slot) for one, slot in zip(order, slots, strict=True)]
            world = self._mirrored(world)
        if len({self._place(one)[0] for one in order}) < len(order):
            # They stand in the same place: only their exports may still differ.
            world = min(world, self._mirrored(world))
        return Numbered(NOBODY, tuple(order), world)

    def _place(self, one: int) -> tuple[int, str]:
        """Where it stands, whatever it is called; and what it is called."""
        if one not in self._places:
            self._places[one] = (self._moved(one, SLOTS[0]), self._teardowns.things[one].slot)
        return self._places[one]

    def _moved(self, one: int, slot: str) -> int:
        return self._teardowns.number(alike.moved(self._teardowns.things[one], slot))

    def _mirrored(self, world: int) -> int:
        if world not in self._mirrors:
            self._mirrors[world] = self._worlds.number(alike.mirrored(self._worlds.things[world]))
        return self._mirrors[world]


def held_to_the_truth(system: System) -> System:
    """Promise 3, asked wherever something is said, not only at the end: what is true stays true."""
    world = system.world
    lie = properties.lies_of_certificate(world) or properties.lies_of_ending(system)
    if lie is None and world.train is not None:
        lie = properties.lies_of_train(world)
    return system._replace(world=world.breaks(lie)) if lie else system
