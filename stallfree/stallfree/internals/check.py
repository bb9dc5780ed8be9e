"""Comparing the table of names with what is installed, before a training begins."""

import inspect
import sys
from collections.abc import Callable, Iterable
from functools import reduce
from importlib import import_module, metadata
from types import CodeType
from typing import Any

from stallfree.internals.names import NAMES, TRIED, Name

Find = Callable[[str], Any]


class UnknownVersion(RuntimeError):
    """Another library has changed what this one leans on; the message says what, and what to install."""


def check(names: Iterable[Name] = NAMES, find: Find | None = None) -> None:
    """UnknownVersion, if a name of the table is gone or has other parameters than it was tried with."""
    find = find or _installed
    names = [name for name in names if not name.is_optional or name.owner.partition(":")[0] in sys.modules]
    faults = {name: fault for name in names if (fault := _fault_of(name, find))}
    if faults:
        libraries = sorted({name.library for name in faults})
        raise UnknownVersion(
            f"stallfree cannot work with {' and '.join(map(_with_version, libraries))}: {'; '.join(faults.values())}. "
            f"Install {' and '.join(f'{library} {TRIED[library]}' for library in libraries)}, "
            "or take Stallfree() out of the Trainer's callbacks."
        )


def _installed(owner: str) -> Any:
    module, _, path = owner.partition(":")
    return reduce(getattr, path.split(".") if path else (), import_module(module))


def _fault_of(name: Name, find: Find) -> str | None:
    try:
        owner = find(name.owner)
    except (ImportError, AttributeError):
        return f"{name} is gone"
    if not _is_there(name, owner):
        return f"{name} is gone"
    function: Any = getattr(owner, name.name, None)
    # If a script has replaced it, its parameters are the script's affair.
    if name.parameters is None or str(getattr(function, "__module__", "")).partition(".")[0] not in TRIED:
        return None
    found = inspect.signature(function).parameters
    expected = name.parameters.split(", ")
    more = [parameter for parameter in found.values() if parameter.name not in expected]
    may_have_more = not name.is_replaced and all(parameter.default is not parameter.empty for parameter in more)
    if list(found) == expected or (may_have_more and list(found)[: len(expected)] == expected):
        return None
    return f"{name}({name.parameters}) is now {name}({', '.join(found)})"


def _is_there(name: Name, owner: Any) -> bool:
    match name.kind:
        case "local":
            return name.name in (*owner.__code__.co_varnames, *owner.__code__.co_cellvars)
        case "attribute":
            kinds = [kind for kind in inspect.getmro(owner) if kind is not object]
            return any(name.name in getattr(kind, "__annotations__", {}) or _sets(kind, name.name) for kind in kinds)
        case _:
            return hasattr(owner, name.name)


def _sets(kind: type, attribute: str) -> bool:
    """Whether a method of the class names the attribute: it may be set long after an instance is made."""
    codes = [getattr(inspect.unwrap(member), "__code__", None) for member in vars(kind).values() if callable(member)]
    return any(isinstance(code, CodeType) and attribute in code.co_names for code in codes)


def _with_version(library: str) -> str:
    try:
        return f"{library} ({metadata.version(library)})"
    except metadata.PackageNotFoundError:
        return library
