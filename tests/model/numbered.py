"""The states of the search in numbers: worlds and executions are many times the same, and what one may do in one world
is worked out once, whoever else there is.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

from tests.model import alike, anything, properties, tokens
from tests.model.net import SLOTS, Net, Step, System, Teardown
from tests.model.standing import Frame
from tests.model.world import World

NOBODY = -1
Thing = TypeVar("Thing", bound=Hashable)
Ask = Callable[..., Iterator[Step]]


class Numbered(NamedTuple):
    """Who stands where, and in which world."""

    train: int
    teardowns: tuple[int, ...]
    world: int


class Arrow(NamedTuple):
    label: str
    cost: int
    to: Numbered
    maybe: bool

    @property
    def order(self) -> tuple[int, bool]:
        """Of two ways to the same state the one with fewer faults counts, and what may be otherwise is no better."""
        return self.cost, not self.maybe


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
        self._orders: dict[tuple[int, ...], tuple[tuple[int, ...], bool, bool]] = {}

    def of(self, state: Numbered) -> Iterable[Arrow]:
        """Everything that may happen; of what leads to the same state, the way with the fewest faults."""
        found: dict[Numbered, Arrow] = {}
        for arrow in self._of(state):
            known = found.get(arrow.to)
            if known is None or arrow.order < known.order:
                found[arrow.to] = arrow
        found.pop(state, None)
        return found.values()

    def _of(self, state: Numbered) -> Iterator[Arrow]:
        """Teardowns, and what happens by itself, see each other only through the world."""
        train, running, world = state
        if train != NOBODY:
            for label, cost, to, maybe in self._once(anything.of_train, train, running, world):
                yield Arrow(label, cost, self._ordered(*to), maybe)
        for one in running:
            others = tuple(other for other in running if other != one)
            for label, cost, to, maybe in self._once(anything.of_teardown, train, (one,), world):
                yield Arrow(label, cost, self._ordered(train, to.teardowns + others, to.world), maybe)
        for label, cost, to, maybe in self._once(anything.by_itself, train, (), world):
            yield Arrow(label, cost, self._ordered(train, running, to.world), maybe)
        if train == NOBODY and len(running) < anything.MOST_TEARDOWNS:
            for label, cost, to, maybe in self._once(anything.starts_beside, train, (), world, SLOTS[: len(running)]):
                yield Arrow(label, cost, self._ordered(train, running + to.teardowns, to.world), maybe)

    def _once(self, ask: Ask, train: int, running: tuple[int, ...], world: int, *more: Any) -> list[Arrow]:
        """As they are, not yet in order: that depends on who else runs."""
        key = (ask, train, running, world, *more)
        known = self._known.get(key)
        if known is None:
            found: dict[Numbered, Arrow] = {}
            for step in ask(self._net, self.system(Numbered(train, running, world)), *more):
                arrow = Arrow(step.label, step.cost, self._number(step.to), step.maybe)
                before = found.get(arrow.to)
                if before is None or arrow.order < before.order:
                    found[arrow.to] = arrow
            known = self._known[key] = list(found.values())
        return known

    # ---- from values to numbers and back

    def number(self, system: System) -> Numbered:
        return self._ordered(*self._number(system))

    def system(self, state: Numbered) -> System:
        train = None if state.train == NOBODY else self._trains.things[state.train]
        running = tuple(self._teardowns.things[one] for one in state.teardowns)
        return System(train, running, self._worlds.things[state.world])

    def _number(self, system: System) -> Numbered:
        system = alike.canonical(held_to_the_truth(system))
        train = NOBODY if system.train is None else self._trains.number(system.train)
        running = tuple(self._teardowns.number(one) for one in system.teardowns)
        return Numbered(train, running, self._worlds.number(system.world))

    # ---- two teardowns are equals

    def _ordered(self, train: int, running: tuple[int, ...], world: int) -> Numbered:
        """Which of both is called the first does not matter, as long as one is."""
        if not running:
            return Numbered(train, running, world)
        order, is_mirrored, are_alike = self._orders.get(running) or self._order(running)
        if is_mirrored:
            world = self._mirrored(world)
        if are_alike:
            # They stand in the same place: only their exports may still differ.
            world = min(world, self._mirrored(world))
        return Numbered(train, order, world)

    def _order(self, running: tuple[int, ...]) -> tuple[tuple[int, ...], bool, bool]:
        """In which order, whether that changes their names, and whether they stand in the same place."""
        order = sorted(running, key=self._place)
        slots = SLOTS[: len(order)]
        is_mirrored = tuple(self._place(one)[1] for one in order) != slots
        if is_mirrored:
            order = [self._moved(one, slot) for one, slot in zip(order, slots, strict=True)]
        are_alike = len({self._place(one)[0] for one in order}) < len(order)
        self._orders[running] = tuple(order), is_mirrored, are_alike
        return self._orders[running]

    def _place(self, one: int) -> tuple[int, str]:
        """Where it stands, whatever it is called; and what it is called."""
        if one not in self._places:
            self._places[one] = (self._moved(one, SLOTS[0]), self._teardowns.things[one].slot)
        return self._places[one]

    def _moved(self, one: int, slot: str) -> int:
        return self._teardowns.number(tokens.moved(self._teardowns.things[one], slot))

    def _mirrored(self, world: int) -> int:
        if world not in self._mirrors:
            self._mirrors[world] = self._worlds.number(tokens.mirrored(self._worlds.things[world]))
        return self._mirrors[world]


def held_to_the_truth(system: System) -> System:
    """Promise 3, asked wherever something is said, not only at the end: what is true stays true."""
    world = system.world
    lie = properties.at_any_time(world) or properties.lies_of_certificate(world)
    lie = lie or properties.lies_of_ending(system) or properties.lies_to_come(world)
    if lie is None and world.train is not None:
        lie = properties.lies_of_train(world)
    return system._replace(world=world.breaks(lie)) if lie else system
