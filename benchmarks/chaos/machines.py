"""The states of a deployed machine, as its own definition has them."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class State:
    name: str
    calls: bool
    """Whether it calls anything, and so can fail."""
    declared: tuple[str, ...]
    """The errors that its Retry and Catch name, without the wildcards."""


def states_of(definition: str) -> list[State]:
    return list(_states(json.loads(definition)))


def _states(flow: dict[str, Any]) -> Iterator[State]:
    for name, state in flow["States"].items():
        rules = [*state.get("Retry", []), *state.get("Catch", [])]
        named = {error for rule in rules for error in rule["ErrorEquals"]} - {"States.ALL"}
        yield State(name, state["Type"] == "Task", tuple(sorted(named)))
        for inner in [*state.get("Branches", []), *([state["ItemProcessor"]] if "ItemProcessor" in state else [])]:
            yield from _states(inner)
