"""Rules: every `$variable` is assigned on all paths before it is read, and no inner scope hides an outer name."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from tools.definitions.asl import Arrow, Json, Scope, arrows_of, inner_blocks, is_expression, scopes
from tools.definitions.expressions import Unreadable, fields_of_states, free_variables, parse

# Everywhere; `result` only in Assign and Output, `errorOutput` only in a Catch.
_EVERYWHERE = {"input", "context"}
_BLOCKS = ("Branches", "ItemProcessor", "Iterator")


def expressions_in(value: Any) -> Iterator[str]:
    """Every expression at any depth, but not those of states inside."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in _BLOCKS:
                yield from expressions_in(inner)
    elif isinstance(value, list):
        for item in value:
            yield from expressions_in(item)
    elif is_expression(value):
        yield value


def unreadable_expressions(definition: Json) -> list[str]:
    faults = []
    for name, expression in _all(definition):
        try:
            parse(expression)
        except Unreadable as error:
            faults.append(f"{name}: {error}")
    return faults


def unassigned_variables(definition: Json) -> list[str]:
    return _unassigned(definition, frozenset())


def hidden_variables(definition: Json) -> list[str]:
    """Step Functions refuses an inner scope that assigns a name of an outer one."""
    return list(_hidden(definition, frozenset(), ()))


class Misplaced(NamedTuple):
    """A field of `$states` that is not there in this part of a state."""

    path: str
    state: str
    part: str
    field: str


def misplaced(definition: Json) -> Iterator[Misplaced]:
    for scope in scopes(definition):
        for name, state in scope.states.items():
            for part, value in state.items():
                allowed = _EVERYWHERE | ({"result"} if part in ("Assign", "Output") else set())
                allowed |= {"errorOutput"} if part == "Catch" else set()
                for expression in expressions_in({} if part in _BLOCKS else value):
                    wrong = fields_of_states(expression) - allowed
                    yield from (Misplaced(f"{scope.path}/States/{name}", name, part, one) for one in sorted(wrong))


def misplaced_fields_of_states(definition: Json) -> list[str]:
    return [f"{one.state}: {one.part} has no $states.{one.field}" for one in misplaced(definition)]


def _hidden(block: Json, outside: frozenset[str], holders: tuple[str, ...]) -> Iterator[str]:
    scope = Scope(block["StartAt"], block["States"], holders)
    assigned = _assigned_in(scope)
    yield from (f"{' > '.join(holders)}: ${name} hides the one outside" for name in sorted(assigned & outside))
    for name, state in scope.states.items():
        for inner in inner_blocks(state):
            yield from _hidden(inner, outside | assigned, (*holders, name))


def _unassigned(block: Json, outside: frozenset[str]) -> list[str]:
    scope = Scope(block["StartAt"], block["States"], ())
    known = _known_on_entry(scope, outside)
    faults = []
    for name, before in known.items():
        state = scope.states[name]
        used = {variable for expression in expressions_in(state) for variable in free_variables(expression)}
        faults += [f"{name}: ${variable} is not assigned on every path here" for variable in sorted(used - before)]
        for inner in inner_blocks(state):
            faults += _unassigned(inner, before - {"states"})
    return faults


def _known_on_entry(scope: Scope, outside: frozenset[str]) -> dict[str, frozenset[str]]:
    """For each reachable state the variables that every path to it has assigned (meet over all paths)."""
    known = {scope.start: outside | {"states"}}
    ahead = [scope.start]
    while ahead:
        name = ahead.pop()
        state = scope.states[name]
        for arrow in arrows_of(name, state):
            brought = known[name] | _assigned_along(arrow, state)
            before = known.get(arrow.target)
            now = brought if before is None else before & brought
            if now != before and arrow.target in scope.states:
                known[arrow.target] = now
                ahead.append(arrow.target)
    return known


def _assigned_along(arrow: Arrow, state: Json) -> set[str]:
    """A Catch and a rule of a Choice assign for their own way only; the state's own Assign is for the others."""
    return set((state if arrow.kind in ("next", "default") else arrow.rule).get("Assign", {}))


def _assigned_in(scope: Scope) -> set[str]:
    rules = [*scope.states.values(), *(arrow.rule for arrow in scope.arrows())]
    return {name.removesuffix(".$") for rule in rules for name in rule.get("Assign", {})}


def _all(definition: Json) -> Iterator[tuple[str, str]]:
    for scope in scopes(definition):
        for name, state in scope.states.items():
            for expression in expressions_in(state):
                yield name, expression
