"""The state of an execution, its moves, and the calls and answers between it and its environment."""

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

from tools.proofs.model.values import Frozen


class Fault(NamedTuple):
    """An error as Step Functions sees it. `lasts`: it comes again with every retry."""

    error: str
    cause: str | None = "it did not work"
    lasts: bool = False


class Done(NamedTuple):
    output: Any


class Frame(NamedTuple):
    """The current state of a block. `waiting`: what a `.sync` task waits for. `inner`: its branches, or items done."""

    state: str
    input: Any
    variables: Frozen
    tries: tuple[int, ...] = ()
    waiting: str | None = None
    inner: tuple[Any, ...] = ()


Position = Frame | Done | Fault


class Move(NamedTuple):
    """One thing that may happen; `cost` counts the faults in it.

    `maybe`: whether it can happen depends on how often something happened, which the search does not count.
    """

    label: str
    cost: int
    to: Any
    aws: Any
    maybe: bool = False


class Answer(NamedTuple):
    """The answer to a call, and the state of AWS afterwards."""

    label: str
    cost: int
    aws: Any
    result: Any
    maybe: bool = False


class Call(NamedTuple):
    """The call of a Task state."""

    state: str
    resource: str
    arguments: Frozen
    execution: str
    declared: tuple[str, ...]
    timed: bool = True


class Environment(Protocol):
    """`exact`: polls and retries are counted and time passes in waits; else anything may take any time."""

    exact: bool
    faults: bool

    def answers(self, call: Call, aws: Any) -> Iterator[Answer]: ...
    def ended(self, waiting: str, aws: Any) -> Iterator[Answer] | None: ...
    def time_limit(self, waiting: str, aws: Any) -> Iterator[Answer]: ...
    def stopped(self, waiting: str, aws: Any) -> Iterator[Answer]: ...
    def time_passes(self, aws: Any) -> Iterator[Answer]: ...


class Context(NamedTuple):
    """The values of `$states.context`, and the environment that answers calls."""

    values: Frozen
    name: str
    environment: Environment


class Waiting(NamedTuple):
    """The answer to the start of a `.sync` task: what to wait for."""

    on: str


def awaited(position: Any) -> list[str]:
    """Everything that an execution in this state has started and waits for."""
    if not isinstance(position, Frame):
        return []
    own = [position.waiting] if position.waiting else []
    return own + [one for inner in position.inner for one in awaited(inner)]
