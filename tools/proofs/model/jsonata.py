"""The part of JSONata that our flows use, compiled to Python closures: a thousand times faster than its syntax tree.

The tree is jsonata-python's, and a test compares each closure with jsonata-python on the same input. Anything outside
this part is refused when the flow is loaded.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from jsonata import Jsonata

from tools.proofs.model.values import MISSING, Frozen, compact, freeze

Scope = Mapping[str, Any]
Expression = Callable[[Scope], Any]


class Unsupported(Exception):
    """A construct that no flow used so far: add it to this module."""


class QueryError(Exception):
    """What Step Functions calls States.QueryEvaluationError."""


@cache
def compiled(text: str) -> Expression:
    """`text` without its fences. The closure raises QueryError also for 'undefined', as Step Functions does."""
    inner = _of(Jsonata(text).ast)

    def evaluate(scope: Scope) -> Any:
        found = inner(scope)
        if found is MISSING:
            raise QueryError(f"The JSONata expression '{text}' returned nothing (undefined).")
        return found

    return evaluate


_NUMBERS = {("binary", "-"), ("binary", "+")}


def _of(node: Any) -> Expression:
    make = _NODES.get(node.type)
    if make is None:
        raise Unsupported(f"JSONata: {node.type} {node.value!r}")
    return make(node)


def _constant(node: Any) -> Expression:
    value = None if type(node.value).__name__ == "NullValue" or node.value is None else node.value
    return lambda scope: value


def _variable(node: Any) -> Expression:
    name = node.value
    return lambda scope: scope.get(name, MISSING)


def _path(node: Any) -> Expression:
    first, *steps = node.steps
    if first.stages or any(step.type != "name" or len(step.stages or ()) > 1 for step in steps):
        raise Unsupported("JSONata: a path with more than names and one index each in it")
    start = _of(first)
    names = [(step.value, _index(step.stages[0]) if step.stages else None) for step in steps]

    def walk(scope: Scope) -> Any:
        value = start(scope)
        for name, index in names:
            value = _member(value, name)
            if index is not None and value is not MISSING:
                value = _at(value, index(scope))
        return value

    return walk


def _index(stage: Any) -> Expression:
    """A number, as in `links[$made - 1]`; what selects by a condition is not needed."""
    if stage.type != "filter" or (stage.expr.type, stage.expr.value) not in _NUMBERS:
        raise Unsupported("JSONata: a filter that is no index")
    return _of(stage.expr)


def _at(value: Any, index: Any) -> Any:
    items = value if isinstance(value, tuple) else (value,)
    return items[index] if isinstance(index, int) and 0 <= index < len(items) else MISSING


def _member(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        return value.get(name, MISSING)
    if isinstance(value, tuple):
        found: list[Any] = []
        for one in value:
            inner = _member(one, name)
            found += [] if inner is MISSING else inner if isinstance(inner, tuple) else [inner]
        return MISSING if not found else found[0] if len(found) == 1 else tuple(found)
    return MISSING


def _unary(node: Any) -> Expression:
    if node.value == "[":
        items = [(_of(one), one.type == "unary" and one.value == "[") for one in node.expressions]

        def array(scope: Scope) -> Any:
            made: list[Any] = []
            for item, is_array in items:
                value = item(scope)
                made += [] if value is MISSING else value if isinstance(value, tuple) and not is_array else [value]
            return tuple(made)

        return array
    if node.value == "{":
        pairs = [(_of(key), _of(value)) for key, value in node.lhs_object or []]

        def structure(scope: Scope) -> Any:
            made = {key(scope): value(scope) for key, value in pairs}
            return Frozen({key: value for key, value in made.items() if value is not MISSING})

        return structure
    raise Unsupported(f"JSONata: unary {node.value}")


def _condition(node: Any) -> Expression:
    test, then = _of(node.condition), _of(node.then)
    otherwise = _of(node._else) if node._else is not None else lambda scope: MISSING
    return lambda scope: then(scope) if truth(test(scope)) else otherwise(scope)


def _block(node: Any) -> Expression:
    parts = [
        (one.lhs.value if one.type == "bind" else None, one.rhs if one.type == "bind" else one)
        for one in node.expressions
    ]
    steps = [(name, _of(part)) for name, part in parts]

    def run(scope: Scope) -> Any:
        inner, value = dict(scope), MISSING
        for name, step in steps:
            value = step(inner)
            if name is not None:
                inner[name] = value
        return value

    return run


def _binary(node: Any) -> Expression:
    left, right, operator = _of(node.lhs), _of(node.rhs), node.value
    if operator == "and":
        return lambda scope: truth(left(scope)) and truth(right(scope))
    if operator == "or":
        return lambda scope: truth(left(scope)) or truth(right(scope))
    operate = _OPERATORS.get(operator)
    if operate is None:
        raise Unsupported(f"JSONata: operator {operator}")
    return lambda scope: operate(left(scope), right(scope))


def _function(node: Any) -> Expression:
    function = _FUNCTIONS.get(node.procedure.value)
    if function is None:
        raise Unsupported(f"JSONata: ${node.procedure.value}")
    arguments = [_of(one) for one in node.arguments]

    def call(scope: Scope) -> Any:
        try:
            return function(*(argument(scope) for argument in arguments))
        except (TypeError, ValueError, AttributeError) as error:
            raise QueryError(f"${node.procedure.value}: {error}") from error

    return call


def truth(value: Any) -> bool:
    """As JSONata's $boolean: an empty text, object or array is false; an array is true if one of its members is."""
    return any(truth(one) for one in value) if isinstance(value, tuple) else bool(value)


def _equal(left: Any, right: Any) -> bool:
    return left is not MISSING and right is not MISSING and _same(left, right)


def _unequal(left: Any, right: Any) -> bool:
    return left is not MISSING and right is not MISSING and not _same(left, right)


def _same(left: Any, right: Any) -> bool:
    return bool(left == right) and isinstance(left, bool) == isinstance(right, bool)


def _is_in(left: Any, right: Any) -> bool:
    if left is MISSING or right is MISSING:
        return False
    return any(_same(left, one) for one in (right if isinstance(right, tuple) else (right,)))


def _numbers(operate: Callable[[Any, Any], Any], *, texts: bool = False) -> Callable[[Any, Any], Any]:
    kinds: Any = (int, float, str) if texts else (int, float)

    def checked(left: Any, right: Any) -> Any:
        for value in (left, right):
            if value is not MISSING and (not isinstance(value, kinds) or isinstance(value, bool)):
                raise QueryError(f"{value!r} is not an operand here")
        if left is MISSING or right is MISSING:
            return MISSING
        if isinstance(left, str) != isinstance(right, str):
            raise QueryError(f"{left!r} and {right!r} cannot be compared")
        return operate(left, right)

    return checked


def _string(value: Any) -> Any:
    return value if value is MISSING or isinstance(value, str) else compact(value)


def _joined(left: Any, right: Any) -> str:
    return f"{_string(left) or ''}{_string(right) or ''}"


def _substring(text: Any, start: int, length: int | None = None) -> Any:
    if text is MISSING:
        return MISSING
    if not isinstance(text, str):
        raise TypeError(f"{text!r} is not text")
    return text[start:] if length is None else text[start : start + length]


def _count(value: Any) -> int:
    return 0 if value is MISSING else len(value) if isinstance(value, tuple) else 1


def _join(texts: Any, separator: str = "") -> Any:
    return MISSING if texts is MISSING else separator.join((texts,) if isinstance(texts, str) else texts)


def _merge(objects: Any) -> Any:
    merged: dict[str, Any] = {}
    for one in objects if isinstance(objects, tuple) else (objects,):
        merged.update(one)
    return Frozen(merged)


def _hash(text: str, algorithm: str) -> str:
    return hashlib.new(algorithm.replace("-", "").lower(), text.encode()).hexdigest()


_NODES: dict[str, Callable[[Any], Expression]] = {
    "string": _constant,
    "number": _constant,
    "value": _constant,
    "variable": _variable,
    "path": _path,
    "unary": _unary,
    "condition": _condition,
    "block": _block,
    "binary": _binary,
    "function": _function,
}
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "=": _equal,
    "!=": _unequal,
    "in": _is_in,
    "&": _joined,
    "<": _numbers(lambda left, right: left < right, texts=True),
    "<=": _numbers(lambda left, right: left <= right, texts=True),
    ">": _numbers(lambda left, right: left > right, texts=True),
    ">=": _numbers(lambda left, right: left >= right, texts=True),
    "+": _numbers(lambda left, right: left + right),
    "-": _numbers(lambda left, right: left - right),
    "*": _numbers(lambda left, right: left * right),
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "exists": lambda value: value is not MISSING,
    "not": lambda value: MISSING if value is MISSING else not truth(value),
    "count": _count,
    "string": _string,
    "substring": _substring,
    "join": _join,
    "merge": _merge,
    "hash": _hash,
    "parse": lambda text: freeze(json.loads(text)),
}
