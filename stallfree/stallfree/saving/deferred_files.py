"""Files whose content is copied now and written later, so that training does not wait for a disk."""

import copy
import io
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
import torch

from stallfree.internals.pytorch import identity_of

Write = Callable[[Path], object]
"""Writes the file to the path that it gets."""

Take = Callable[[str, Any], bool]
"""Gets a file's name in its folder, and its content; False: it does not take this file."""

_NUMBERS = {int, float, bool, type(None)}
_DEPTH = 3

_deferred: ContextVar[tuple[str, dict[str, Write], Take] | None] = ContextVar("stallfree_held", default=None)
_needs_no_copy: ContextVar[bool] = ContextVar("stallfree_is_made_for_it", default=False)


@contextmanager
def deferred(folder: Path, *, take: Take = lambda name, content: False) -> Iterator[dict[str, Write]]:
    """Keep what this thread saves below the folder with `torch.save` or `write_json` in memory, as it is now.

    Yields functions that write the files later, by name. What `torch.save` gets is offered to `take` first.
    """
    writes = dict[str, Write]()
    token = _deferred.set((f"{folder}/", writes, take))
    _in_place_of_save.begin()
    try:
        yield writes
    finally:
        _in_place_of_save.end()
        _deferred.reset(token)


@contextmanager
def without_copy() -> Iterator[None]:
    """What this thread saves in this block need not be copied: nothing else refers to it."""
    token = _needs_no_copy.set(True)
    try:
        yield
    finally:
        _needs_no_copy.reset(token)


class _InPlaceOfSave:
    """Replaces `torch.save` while a thread defers files; calls of other threads go to the real one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._save: Callable[..., None] = torch.save

    def begin(self) -> None:
        with self._lock:
            if not self._users:
                self._save, torch.save = torch.save, self
            self._users += 1

    def end(self) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                torch.save = self._save

    def __call__(self, obj: Any, f: Any, *args: Any, **named: Any) -> None:
        name, deferred_to, save = _name(f), _deferred.get(), self._save
        if name is None or deferred_to is None:
            save(obj, f, *args, **named)
        elif _needs_no_copy.get():
            deferred_to[1][name] = lambda path: save(obj, path, *args, **named)
        elif deferred_to[2](name, obj):
            return
        elif _is_plain(obj):
            copied = copy_of(obj)
            deferred_to[1][name] = lambda path: save(copied, path, *args, **named)
        else:
            # A copy could be large: a scheduler can refer to the optimizer.
            written = io.BytesIO()
            save(obj, written, *args, **named)
            deferred_to[1][name] = lambda path: path.write_bytes(written.getbuffer())


_in_place_of_save = _InPlaceOfSave()


def write_json(path: str, content: Any) -> None:
    """At once, unless it is deferred. The content may not change any more."""
    name = _name(path)
    if name is None:
        _dump(content, Path(path))
    elif (deferred_to := _deferred.get()) is not None:
        deferred_to[1][name] = partial(_dump, content)


def copy_of(content: Any) -> Any:
    """A copy, equal to the last byte when it is pickled. Copies quickly what takes `deepcopy` long."""
    memo: dict[Any, Any] = {}
    _copy_quickly(content, memo, _DEPTH)
    return copy.deepcopy(content, memo)


def _is_plain(content: Any, depth: int = 6) -> bool:
    """Made of what is copied as quickly as it is written, and not deeply nested or circular."""
    if not depth:
        return False
    below = partial(_is_plain, depth=depth - 1)
    if isinstance(content, torch.Tensor | np.ndarray):
        return isinstance(content, np.ndarray) or content.device.type == "cpu"
    if isinstance(content, dict):
        return all(map(below, content)) and all(map(below, content.values()))
    if isinstance(content, list | tuple):
        return _NUMBERS.issuperset(map(type, content)) or all(map(below, content))
    return isinstance(content, str | bytes | int | float | None)


def _copy_quickly(value: Any, memo: dict[Any, Any], depth: int) -> None:
    kind = type(value)
    if kind is torch.Tensor and value.is_contiguous() and value.untyped_storage().nbytes() == value.nbytes:
        memo[id(value)] = copied = value.detach().clone().requires_grad_(value.requires_grad)
        # Where PyTorch looks for memory that tensors share.
        memo.setdefault("torch", {})[identity_of(value.untyped_storage())] = copied.untyped_storage()
    elif kind is tuple and _NUMBERS.issuperset(map(type, value)):
        memo[id(value)] = value
    elif depth and kind in (dict, list, tuple):
        for part in value.values() if kind is dict else value:
            _copy_quickly(part, memo, depth - 1)


def _name(file: Any) -> str | None:
    """What the file is called in the folder whose files this thread defers, if it is one of them."""
    deferred_to = _deferred.get()
    if deferred_to is None or not isinstance(file, str | PathLike):
        return None
    path = fspath(file)
    return path.removeprefix(deferred_to[0]) if isinstance(path, str) and path.startswith(deferred_to[0]) else None


def _dump(content: Any, path: Path) -> None:
    path.write_text(json.dumps(content))
