"""Putting something in the place of another library's function, and taking it away again."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from transformers import Trainer, TrainerState

from stallfree.internals.names import NAMES

_REPLACED = {name.name for name in NAMES if name.is_replaced}


def replace(owner: Trainer | TrainerState, method: str, replacement: Callable[..., Any]) -> None:
    """Put something in a method's place, on this one instance. Taken away again by `restore`."""
    assert method in _REPLACED, f"{method} stands in the table of names"
    owner.__dict__[method] = replacement


def restore(owner: Trainer | TrainerState, *methods: str) -> None:
    for method in methods:
        owner.__dict__.pop(method, None)


@contextmanager
def replaced(owner: Trainer, **replacements: Callable[..., Any]) -> Iterator[None]:
    """The same for as long as this lasts; then what was there comes back, another's replacement included."""
    before = {name: owner.__dict__[name] for name in replacements if name in owner.__dict__}
    for name, replacement in replacements.items():
        replace(owner, name, replacement)
    try:
        yield
    finally:
        restore(owner, *replacements)
        owner.__dict__.update(before)


@contextmanager
def replaced_in(module: ModuleType, name: str, replacement: Callable[..., Any]) -> Iterator[None]:
    """A function of a module, for all who call it there."""
    assert name in _REPLACED, f"{name} stands in the table of names"
    before = getattr(module, name)
    setattr(module, name, replacement)
    try:
        yield
    finally:
        setattr(module, name, before)
