"""The transitions of the search, on states as small numbers.

States of AWS and of executions repeat many times: each gets a number, and the successors of an execution in a state of
AWS are computed once, whatever other executions there are.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

from tools.proofs.model import abstraction, properties, successors, tokens
from tools.proofs.model.aws_state import AwsState
from tools.proofs.model.execution import Frame
from tools.proofs.model.system import SLOTS, Model, Step, System, Teardown

NOBODY = -1
Value = TypeVar("Value", bound=Hashable)
SuccessorsOf = Callable[..., Iterator[Step]]


class StateKey(NamedTuple):
    """A state of the system as numbers: of Train, of each teardown, and of AWS."""

    train: int
    teardowns: tuple[int, ...]
    aws: int


class Transition(NamedTuple):
    label: str
    cost: int
    to: StateKey
    maybe: bool

    @property
    def order(self) -> tuple[int, bool]:
        """Of two transitions to the same state the one with fewer faults counts; at the same cost, the certain one."""
        return self.cost, not self.maybe


class Table(Generic[Value]):
    """Each value once, by its number."""

    def __init__(self) -> None:
        self._numbers: dict[Value, int] = {}
        self.values: list[Value] = []

    def number(self, value: Value) -> int:
        known = self._numbers.get(value)
        if known is None:
            known = self._numbers[value] = len(self.values)
            self.values.append(value)
        return known


class Transitions:
    def __init__(self, model: Model) -> None:
        self._model = model
        self._trains: Table[Frame] = Table()
        self._teardowns: Table[Teardown] = Table()
        self._aws_states: Table[AwsState] = Table()
        self._known: dict[Hashable, list[Transition]] = {}
        self._positions: dict[int, tuple[int, str]] = {}
        self._swapped_states: dict[int, int] = {}
        self._orders: dict[tuple[int, ...], tuple[tuple[int, ...], bool, bool]] = {}

    def of(self, state: StateKey) -> Iterable[Transition]:
        """All transitions from a state; of those to the same state, the one with the fewest faults."""
        found: dict[StateKey, Transition] = {}
        for transition in self._of(state):
            known = found.get(transition.to)
            if known is None or transition.order < known.order:
                found[transition.to] = transition
        found.pop(state, None)
        return found.values()

    def _of(self, state: StateKey) -> Iterator[Transition]:
        """Teardowns, and changes by themselves, affect each other only through AWS."""
        train, running, aws = state
        if train != NOBODY:
            for label, cost, to, maybe in self._cached(successors.of_train, train, running, aws):
                yield Transition(label, cost, self._in_order(*to), maybe)
        for one in running:
            others = tuple(other for other in running if other != one)
            for label, cost, to, maybe in self._cached(successors.of_teardown, train, (one,), aws):
                yield Transition(label, cost, self._in_order(train, to.teardowns + others, to.aws), maybe)
        for label, cost, to, maybe in self._cached(successors.by_itself, train, (), aws):
            yield Transition(label, cost, self._in_order(train, running, to.aws), maybe)
        if train == NOBODY and len(running) < self._model.most_teardowns:
            for label, cost, to, maybe in self._cached(successors.starts_beside, train, (), aws, SLOTS[: len(running)]):
                yield Transition(label, cost, self._in_order(train, running + to.teardowns, to.aws), maybe)

    def _cached(
        self, successors_of: SuccessorsOf, train: int, running: tuple[int, ...], aws: int, *more: Any
    ) -> list[Transition]:
        """Computed once. The teardowns are not ordered yet: that depends on the other one."""
        key = (successors_of, train, running, aws, *more)
        known = self._known.get(key)
        if known is None:
            found: dict[StateKey, Transition] = {}
            for step in successors_of(self._model, self.system(StateKey(train, running, aws)), *more):
                transition = Transition(step.label, step.cost, self._number(step.to), step.maybe)
                before = found.get(transition.to)
                if before is None or transition.order < before.order:
                    found[transition.to] = transition
            known = self._known[key] = list(found.values())
        return known

    # ---- between states and numbers

    def number(self, system: System) -> StateKey:
        return self._in_order(*self._number(system))

    def system(self, state: StateKey) -> System:
        train = None if state.train == NOBODY else self._trains.values[state.train]
        running = tuple(self._teardowns.values[one] for one in state.teardowns)
        return System(train, running, self._aws_states.values[state.aws])

    def _number(self, system: System) -> StateKey:
        system = abstraction.canonical(with_broken_promise(system))
        train = NOBODY if system.train is None else self._trains.number(system.train)
        running = tuple(self._teardowns.number(one) for one in system.teardowns)
        return StateKey(train, running, self._aws_states.number(system.aws))

    # ---- symmetry of two teardowns

    def _in_order(self, train: int, running: tuple[int, ...], aws: int) -> StateKey:
        """The order of two teardowns does not matter, so one order stands for both."""
        if not running:
            return StateKey(train, running, aws)
        order, is_swapped, are_alike = self._orders.get(running) or self._order(running)
        if is_swapped:
            aws = self._swapped(aws)
        if are_alike:
            # They are in the same state: only their exports may differ.
            aws = min(aws, self._swapped(aws))
        return StateKey(train, order, aws)

    def _order(self, running: tuple[int, ...]) -> tuple[tuple[int, ...], bool, bool]:
        """The order, whether it exchanges their names, and whether they are in the same state."""
        order = sorted(running, key=self._position)
        slots = SLOTS[: len(order)]
        is_swapped = tuple(self._position(one)[1] for one in order) != slots
        if is_swapped:
            order = [self._renamed(one, slot) for one, slot in zip(order, slots, strict=True)]
        are_alike = len({self._position(one)[0] for one in order}) < len(order)
        self._orders[running] = tuple(order), is_swapped, are_alike
        return self._orders[running]

    def _position(self, one: int) -> tuple[int, str]:
        """Its state without its name, and its name."""
        if one not in self._positions:
            self._positions[one] = (self._renamed(one, SLOTS[0]), self._teardowns.values[one].slot)
        return self._positions[one]

    def _renamed(self, one: int, slot: str) -> int:
        return self._teardowns.number(tokens.renamed(self._teardowns.values[one], slot))

    def _swapped(self, aws: int) -> int:
        if aws not in self._swapped_states:
            self._swapped_states[aws] = self._aws_states.number(tokens.swapped(self._aws_states.values[aws]))
        return self._swapped_states[aws]


def with_broken_promise(system: System) -> System:
    """Checks promise 3 in every state, not only at the end; a broken promise is kept in the state."""
    aws = system.aws
    fault = properties.at_any_time(aws) or properties.false_certificate(aws)
    fault = fault or properties.false_end_of_training(system) or properties.unsafe_statement(aws)
    if fault is None and aws.train is not None:
        fault = properties.false_end_of_train(aws)
    return system._replace(aws=aws.breaks(fault)) if fault else system
