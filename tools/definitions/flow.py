"""A state machine as an outline in the order of its flow: every key of every state."""

import json
from collections.abc import Iterator
from typing import Any

from tools.definitions.asl import Json, Scope, in_flow_order, inner_blocks, is_expression

# In this order, where a state has them; whatever else it has comes after, so that nothing is left out.
_FIRST = (
    "Comment",
    "Resource",
    "Items",
    "Arguments",
    "TimeoutSeconds",
    "Seconds",
    "Error",
    "Cause",
    "Assign",
    "Output",
)
_LAST = ("Retry", "Catch", "Choices", "Default", "Next", "End")
_INDENT = "    "


def outline(definition: Json) -> str:
    """Ends with a line break, as a file does."""
    return "\n".join(_block(definition)) + "\n"


def _block(block: Json) -> Iterator[str]:
    for key in sorted(set(block) - {"States"}):
        yield from _value(key, block[key])
    scope = Scope(block["StartAt"], block["States"], ())
    for name in in_flow_order(scope):
        yield ""
        yield from _state(name, scope.states[name])


def _state(name: str, state: Json) -> Iterator[str]:
    yield f"{name}  [{state['Type']}]"
    inner = {"Type", "Branches", "ItemProcessor"}
    others = sorted(set(state) - {*_FIRST, *_LAST, *inner})
    for key in (*_FIRST, *others, *_LAST):
        if key in state:
            yield from _indented(_RULES[key](state[key]) if key in _RULES else _value(key, state[key]))
    for number, block in enumerate(inner_blocks(state), 1):
        title = f"branch {number}" if "Branches" in state else "for each"
        yield f"{_INDENT}{title}"
        yield from _indented(_indented(_block(block)))


def _retry(rules: list[Json]) -> Iterator[str]:
    for rule in rules:
        yield from _rule("retry", " ".join(rule["ErrorEquals"]), rule, {"ErrorEquals"})


def _catch(rules: list[Json]) -> Iterator[str]:
    for rule in rules:
        yield from _rule("catch", f"{' '.join(rule['ErrorEquals'])} -> {rule['Next']}", rule, {"ErrorEquals", "Next"})


def _choices(rules: list[Json]) -> Iterator[str]:
    for rule in rules:
        yield from _rule("when", f"{_scalar(rule['Condition'])} -> {rule['Next']}", rule, {"Condition", "Next"})


def _rule(word: str, headline: str, rule: Json, shown: set[str]) -> Iterator[str]:
    """Scalars are on the line of the headline, larger values below it."""
    rest = {key: rule[key] for key in sorted(set(rule) - shown)}
    small = {key: value for key, value in rest.items() if not isinstance(value, (dict, list)) and key != "Output"}
    tail = ", ".join(f"{key} {_scalar(value)}" for key, value in small.items())
    yield f"{word}: {headline}{f'  ({tail})' if tail else ''}"
    for key, value in rest.items():
        if key not in small:
            yield from _indented(_value(key, value))


def _value(key: str, value: Any) -> Iterator[str]:
    if isinstance(value, dict) and value:
        yield f"{key}:"
        for inner in sorted(value):
            yield from _indented(_value(inner, value[inner]))
    elif isinstance(value, list) and any(isinstance(item, (dict, list)) for item in value):
        yield f"{key}:"
        for item in value:
            yield from _indented(_value("-", item))
    else:
        yield f"{key}: {_scalar(value)}"


def _scalar(value: Any) -> str:
    """Expressions as they are, everything else as JSON, so that "5" and 5 differ."""
    return str(value) if is_expression(value) else json.dumps(value, ensure_ascii=False)


def _indented(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        yield f"{_INDENT}{line}" if line else line


_RULES = {"Retry": _retry, "Catch": _catch, "Choices": _choices}
