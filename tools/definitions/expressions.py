"""Static analysis of JSONata: does it parse, which variables does it read, what does it compare."""

from collections.abc import Iterator
from typing import Any

from jsonata import jsonata

from tools.definitions.asl import bare

# Step Functions adds these functions to JSONata, and removes `$eval`.
_ADDED = {"partition", "range", "hash", "random", "parse", "uuid"}
_REMOVED = {"eval"}
FUNCTIONS = (set(jsonata.Jsonata.static_frame.bindings) | _ADDED) - _REMOVED


class Unreadable(Exception):
    """The expression does not parse; the message says where."""


def parse(expression: str) -> Any:
    """With or without its fences."""
    try:
        return jsonata.Jsonata(bare(expression)).ast
    except Exception as error:
        raise Unreadable(f"{expression}: {error}") from error


def free_variables(expression: str) -> set[str]:
    """The variables that it reads (`ended` for `$ended`), without JSONata's functions and its own bindings."""
    used: set[str] = set()
    bound: set[str] = set()
    for node in _nodes(parse(expression)):
        if node.type == "variable" and node.value:
            used.add(node.value)
        if node.type == "bind":
            bound.add(node.lhs.value)
        if node.type == "lambda":
            bound |= {argument.value for argument in node.arguments}
    return used - bound - FUNCTIONS


def fields_of_states(expression: str) -> set[str]:
    """What it reads of `$states`: input, result, errorOutput, context."""
    return {
        node.steps[1].value
        for node in _nodes(parse(expression))
        if node.type == "path" and len(node.steps) > 1 and _is_variable(node.steps[0], "states")
    }


def conjuncts(condition: str) -> list[Any]:
    """The parts that must all hold."""
    ahead, found = [parse(condition)], []
    while ahead:
        node = ahead.pop()
        if node.type == "binary" and node.value == "and":
            ahead += [node.lhs, node.rhs]
        else:
            found.append(node)
    return found


def variable_kept_below(node: Any) -> str | None:
    """The counter in `$polls * 20 < $limits.scratch`: one variable on the left, and something else on the right."""
    if node.type != "binary" or node.value not in ("<", "<="):
        return None
    left = {part.value for part in _nodes(node.lhs) if part.type == "variable"}
    right = {part.value for part in _nodes(node.rhs) if part.type == "variable"}
    return left.pop() if len(left) == 1 and not left & right else None


def constant(expression: str) -> Any:
    """Its value if it has no variables, else None."""
    return None if free_variables(expression) else jsonata.Jsonata(bare(expression)).evaluate(None)


def is_increment(expression: Any, variable: str) -> bool:
    """Exactly `$variable + 1`."""
    if not isinstance(expression, str):
        return False
    node = parse(expression)
    return (
        node.type == "binary"
        and node.value == "+"
        and _is_variable(node.lhs, variable)
        and node.rhs.type == "number"
        and node.rhs.value == 1
    )


def _is_variable(node: Any, name: str) -> bool:
    return bool(node.type == "variable" and node.value == name)


def _nodes(root: Any) -> Iterator[Any]:
    """Every node of the syntax tree, once: the parser links some nodes twice."""
    ahead, seen = [root], set()
    while ahead:
        value = ahead.pop()
        if isinstance(value, (list, tuple)):
            ahead += value
        elif hasattr(value, "type") and id(value) not in seen:
            seen.add(id(value))
            yield value
            ahead += vars(value).values()
