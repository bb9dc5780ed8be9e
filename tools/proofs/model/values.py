"""Immutable JSON, which many states can share, compare and hash."""

import json
from typing import Any


class Missing:
    """JSONata's undefined, which is not null."""

    def __repr__(self) -> str:
        return "(undefined)"

    def __bool__(self) -> bool:
        return False


MISSING = Missing()


class Frozen(dict[str, Any]):
    """A JSON object whose hash is computed once; `|` makes a new one."""

    __slots__ = ("_hash",)
    _hash: int

    def __hash__(self) -> int:  # type: ignore[override]
        try:
            return self._hash
        except AttributeError:
            self._hash = hash(frozenset(self.items()))
            return self._hash

    def __or__(self, other: Any) -> "Frozen":  # type: ignore[override]
        return Frozen({**self, **other})

    def without(self, keys: Any) -> "Frozen":
        return Frozen({key: value for key, value in self.items() if key not in keys})


EMPTY = Frozen()


def freeze(value: Any) -> Any:
    if isinstance(value, Frozen):
        return value
    if isinstance(value, dict):
        return Frozen({key: freeze(inner) for key, inner in value.items()})
    if isinstance(value, list | tuple):
        return tuple(freeze(inner) for inner in value)
    return value


def thaw(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: thaw(inner) for key, inner in value.items()}
    if isinstance(value, tuple | list):
        return [thaw(inner) for inner in value]
    return value


def compact(value: Any) -> str:
    return json.dumps(thaw(value), separators=(",", ":"))
