"""Where an execution stands, what may happen to it, and what it and its surroundings say to each other."""

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

from tests.model.values import Frozen


class Fault(NamedTuple):
    """An error as Step Functions sees it. `lasts`: it comes again on every repetition."""

    error: str
    cause: str | None = "it did not work"
    lasts: bool = False


class Done(NamedTuple):
    output: Any


class Frame(NamedTuple):
    """Where a block of states stands. `waiting`: what a `.sync` task waits for. `inner`: branches, or items done."""

    state: str
    input: Any
    variables: Frozen
    tries: tuple[int, ...] = ()
    waiting: str | None = None
    inner: tuple[Any, ...] = ()


Standing = Frame | Done | Fault


class Move(NamedTuple):
    """One thing that may happen; `cost` counts the faults in it.

    `maybe`: which of these it is depends on how often something happened, and that is not counted.
    """

    label: str
    cost: int
    to: Any
    world: Any
    maybe: bool = False


class Answer(NamedTuple):
    """What the outside says to a call, and how the world is afterwards."""

    label: str
    cost: int
    world: Any
    result: Any
    maybe: bool = False


class Call(NamedTuple):
    """What a task asks for."""

    state: str
    resource: str
    arguments: Frozen
    execution: str
    declared: tuple[str, ...]
    timed: bool = True


class Surroundings(Protocol):
    """`exact`: polls and repetitions are counted and time passes by itself; else anything may take any time."""

    exact: bool
    faults: bool

    def answers(self, call: Call, world: Any) -> Iterator[Answer]: ...
    def ended(self, waiting: str, world: Any) -> Iterator[Answer] | None: ...
    def time_limit(self, waiting: str, world: Any) -> Iterator[Answer]: ...
    def stopped(self, waiting: str, world: Any) -> Iterator[Answer]: ...
    def time_passes(self, world: Any) -> Iterator[Answer]: ...


class Context(NamedTuple):
    """What `$states.context` shows, and where calls go."""

    values: Frozen
    name: str
    around: Surroundings


class Waiting(NamedTuple):
    """The answer to the start of a `.sync` task."""

    on: str


def awaited(standing: Any) -> list[str]:
    """Everything that an execution standing here has started and waits for."""
    if not isinstance(standing, Frame):
        return []
    own = [standing.waiting] if standing.waiting else []
    return own + [one for inner in standing.inner for one in awaited(inner)]
