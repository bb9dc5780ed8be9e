"""Mutants of the flows: each has one small defect that a check must notice."""

import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tools.definitions.asl import is_expression, scopes, states

Json = dict[str, Any]

# (text, replacement): each place in a condition is changed alone.
_CONDITIONS = [
    (" = ", " != "),
    ("$not(", "("),
    (" < ", " > "),
    (" and ", " or "),
    ("['ready'", "['pending'"),
    ("'gone'", "'failed'"),
]


# The arguments of direct calls that the model of AWS reads. tests/synth/stacks checks the others.
_MODELLED = {"FileSystemId", "Input", "Paths", "Task", "Tags", "ClientRequestToken", "FileSystemPath"}

MANY = 100


@dataclass(frozen=True)
class Mutant:
    name: str
    machine: str
    state: str
    definition: Json


def of(definitions: dict[str, Json]) -> Iterator[Mutant]:
    for machine, definition in definitions.items():
        for name, _ in _changes(definition):
            changed = copy.deepcopy(definition)
            # The same walk over the copy finds the same place to change.
            dict(_changes(changed))[name]()
            if changed != definition:
                yield Mutant(f"{machine}: {name}", machine, _state_in(name, definition), changed)


def _state_in(name: str, definition: Json) -> str:
    """The longest state's name that the change's name begins with."""
    return max((state for state in states(definition) if name.startswith(f"{state}: ")), key=len)


def _changes(definition: Json) -> Iterator[tuple[str, Any]]:
    for scope in scopes(definition):
        names = list(scope.states)
        for name, state in scope.states.items():
            yield from _of_rules(name, state)
            yield from _of_times(name, state)
            yield from _of_targets(name, state, names)
            yield from _of_outputs(name, state)
            yield from _of_values(name, state)


def _of_rules(name: str, state: Json) -> Iterator[tuple[str, Any]]:
    for kind in ("Catch", "Retry"):
        for index, rule in enumerate(state.get(kind, [])):
            what = f"{name}: {kind} of {', '.join(rule['ErrorEquals'])}"
            yield f"{what} dropped", lambda kind=kind, index=index: state[kind].pop(index)
            yield f"{what} for another error", lambda rule=rule: rule.update(ErrorEquals=["Another.Error"])
            if rule.get("MaxAttempts"):
                yield f"{what}, no attempts", lambda rule=rule: rule.update(MaxAttempts=0)
                more = rule["MaxAttempts"] * MANY
                yield f"{what}, {more} attempts", lambda rule=rule, more=more: rule.update(MaxAttempts=more)
            if "JitterStrategy" in rule:
                yield f"{what}, no jitter", lambda rule=rule: rule.pop("JitterStrategy")
            if rule.get("BackoffRate", 1) > 1:
                yield f"{what}, no back-off", lambda rule=rule: rule.update(BackoffRate=1)


def _of_times(name: str, state: Json) -> Iterator[tuple[str, Any]]:
    limit = state.get("TimeoutSeconds")
    if limit is not None:
        yield f"{name}: no time-out", lambda: state.pop("TimeoutSeconds")
    if isinstance(limit, int):
        yield f"{name}: time-out of {limit * MANY} s", lambda: state.update(TimeoutSeconds=limit * MANY)
    if state["Type"] == "Wait":
        for seconds in (1, MANY * 30):
            yield f"{name}: {seconds} s", lambda seconds=seconds: state.update(Seconds=f"{{% {seconds} %}}")


def _of_outputs(name: str, state: Json) -> Iterator[tuple[str, Any]]:
    """Outputs, errors and causes; many outputs are read by no state."""
    keys = [key for key in ("Output", "Error", "Cause") if is_expression(state.get(key))]
    for key in keys:
        yield f"{name}: {key} dropped", lambda key=key: state.pop(key)


def _of_targets(name: str, state: Json, names: list[str]) -> Iterator[tuple[str, Any]]:
    rules = [(state, key) for key in ("Next", "Default") if key in state]
    rules += [(rule, "Next") for kind in ("Choices", "Catch") for rule in state.get(kind, [])]
    for index, (rule, key) in enumerate(rules):
        at = names.index(rule[key])
        for shift in (1, len(names) // 2):
            other = names[(at + shift) % len(names)]
            if other != rule[key]:
                yield (
                    f"{name}: target {index} to '{other}'",
                    lambda rule=rule, key=key, other=other: rule.update({key: other}),
                )
    for index, way in enumerate(state.get("Choices", [])):
        yield f"{name}: choice {index} dropped", lambda index=index: state["Choices"].pop(index)
        for there, instead in _CONDITIONS:
            for match in re.finditer(re.escape(there), way["Condition"]):
                text = way["Condition"][: match.start()] + instead + way["Condition"][match.end() :]
                yield f"{name}: choice {index}: {text}", lambda way=way, text=text: way.update(Condition=text)


def _of_values(name: str, state: Json) -> Iterator[tuple[str, Any]]:
    for holder in (state, *state.get("Choices", []), *state.get("Catch", [])):
        for variable in holder.get("Assign", {}):
            where = "" if holder is state else f" on the way to {holder['Next']}"
            yield (
                f"{name}: ${variable} not assigned{where}",
                lambda holder=holder, key=variable: holder["Assign"].pop(key),
            )
    asked = state.get("Arguments", {})
    asked = asked.get("Payload", {key: asked[key] for key in asked if key in _MODELLED})
    for key in list(asked):
        holder = state["Arguments"].get("Payload", state["Arguments"])
        yield f"{name}: argument {key} dropped", lambda holder=holder, key=key: holder.pop(key)
