"""JSON filter patterns of CloudWatch Logs: { ($.kind = "saved") && ($.step > 10) }."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any

Matcher = Callable[[Any], bool]
TOKEN = re.compile(r'\s*(&&|\|\||!=|>=|<=|[()=<>]|"(?:[^"\\]|\\.)*"|[^\s()=<>!&|]+)')
ORDER = {">": operator.gt, "<": operator.lt, ">=": operator.ge, "<=": operator.le}
MISSING = object()


class BadPattern(ValueError):
    """CloudWatch Logs would refuse this pattern, or it is beyond what is read here."""


def compile_pattern(raw: str) -> Callable[[str], bool]:
    """A matcher of log lines. Lines that are not JSON objects never match."""
    text = raw.strip()
    if not text.endswith("}"):
        raise BadPattern(f"filterPattern: {raw!r} has no closing brace")
    tokens = _tokens(text[1:-1])
    matcher = _any_of(tokens)
    if tokens:
        raise BadPattern(f"filterPattern: cannot read {' '.join(tokens)!r} in {raw!r}")

    def matches(line: str) -> bool:
        try:
            value = json.loads(line)
        except json.JSONDecodeError:
            return False
        return isinstance(value, dict) and matcher(value)

    return matches


def _tokens(text: str) -> list[str]:
    found, position = [], 0
    text = text.strip()
    while position < len(text):
        token = TOKEN.match(text, position)
        if token is None:
            raise BadPattern(f"filterPattern: cannot read {text[position:]!r}")
        found.append(token[1])
        position = token.end()
    return found


def _any_of(tokens: list[str]) -> Matcher:
    return _joined(tokens, "||", any, _all_of)


def _all_of(tokens: list[str]) -> Matcher:
    return _joined(tokens, "&&", all, _term)


def _joined(tokens: list[str], word: str, join: Callable[..., bool], inner: Callable[[list[str]], Matcher]) -> Matcher:
    parts = [inner(tokens)]
    while tokens and tokens[0] == word:
        tokens.pop(0)
        parts.append(inner(tokens))
    return parts[0] if len(parts) == 1 else lambda value: join(part(value) for part in parts)


def _term(tokens: list[str]) -> Matcher:
    first = _take(tokens)
    if first == "(":
        inner = _any_of(tokens)
        if _take(tokens) != ")":
            raise BadPattern("filterPattern: a parenthesis is not closed")
        return inner
    if not first.startswith("$."):
        raise BadPattern(f"filterPattern: {first!r} is no selector; selectors begin with $.")
    return _comparison(first, _take(tokens), tokens)


def _comparison(selector: str, sign: str, tokens: list[str]) -> Matcher:
    if sign in ("IS", "NOT"):
        wanted = " ".join([sign, _take(tokens)])
        meanings: dict[str, Matcher] = {
            "IS NULL": lambda value: _select(value, selector) is None,
            "IS TRUE": lambda value: _select(value, selector) is True,
            "IS FALSE": lambda value: _select(value, selector) is False,
            "NOT EXISTS": lambda value: _select(value, selector) is MISSING,
        }
        if wanted not in meanings:
            raise BadPattern(f"filterPattern: {wanted!r} is not a test")
        return meanings[wanted]
    right = _take(tokens)
    if sign in ORDER:
        number, compare = float(right), ORDER[sign]
        return lambda value: _is_number(found := _select(value, selector)) and bool(compare(found, number))
    if sign not in ("=", "!="):
        raise BadPattern(f"filterPattern: {sign!r} is not a comparison")
    equal = _equal_to(right)
    if sign == "=":
        return lambda value: equal(_select(value, selector))
    return lambda value: (found := _select(value, selector)) is not MISSING and not equal(found)


def _equal_to(right: str) -> Matcher:
    if not right.startswith('"') and re.fullmatch(r"[-+]?\d+(\.\d+)?([eE][-+]?\d+)?", right):
        number = float(right)
        return lambda found: _is_number(found) and found == number
    text = json.loads(right) if right.startswith('"') else right
    return lambda found: isinstance(found, str) and fnmatchcase(found, text.replace("[", "[[]"))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _select(value: Any, selector: str) -> Any:
    for part in re.findall(r"[^.\[\]]+", selector[2:]):
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            return MISSING
    return value


def _take(tokens: list[str]) -> str:
    if not tokens:
        raise BadPattern("filterPattern: it ends too early")
    return tokens.pop(0)
