"""The states of a deployed state machine, read from its definition."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from stacks.flows.aws_errors import LAMBDA_AWAY
from tools.definitions.asl import inner_blocks


@dataclass(frozen=True)
class State:
    name: str
    calls: str
    """The Resource that it calls; empty where it calls nothing, and so cannot fail."""
    declared: tuple[str, ...]
    """The errors that its Retry and Catch name, without the wildcards."""


def states_of(definition: str) -> list[State]:
    return list(_states(json.loads(definition)))


def _states(flow: dict[str, Any]) -> Iterator[State]:
    for name, state in flow["States"].items():
        rules = [*state.get("Retry", []), *state.get("Catch", [])]
        # Of a service that is away there is one cell: throttled once.
        named = {error for rule in rules for error in rule["ErrorEquals"]} - {"States.ALL", *LAMBDA_AWAY}
        yield State(name, state.get("Resource", ""), tuple(sorted(named)))
        for inner in inner_blocks(state):
            yield from _states(inner)
