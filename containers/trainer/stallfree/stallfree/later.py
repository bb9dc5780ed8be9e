"""Files whose content is settled now and that are written later, so that nobody waits for a disk."""

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

Write = Callable[[Path], object]
"""Gets where the file is to be."""

Take = Callable[[str, Any], bool]
"""Gets a file's name in its folder, and what it is to hold; False: it is none of those that are taken."""

_NUMBERS = {int, float, bool, type(None)}
_DEPTH = 3

_held: ContextVar[tuple[str, dict[str, Write], Take] | None] = ContextVar("stallfree_held", default=None)
_is_made_for_it: ContextVar[bool] = ContextVar("stallfree_is_made_for_it", default=False)


@contextmanager
def held_back(folder: Path, *, take: Take = lambda name, content: False) -> Iterator[dict[str, Write]]:
    """What this thread saves below the folder with `torch.save` or `write_json` is kept in memory, as it is now.

    Whoever writes it later finds it here, by its name in the folder. What `torch.save` gets is offered to `take` first.
    """
    writes = dict[str, Write]()
    token = _held.set((f"{folder}/", writes, take))
    _in_place_of_save.begin()
    try:
        yield writes
    finally:
        _in_place_of_save.end()
        _held.reset(token)


@contextmanager
def as_it_is_made() -> Iterator[None]:
    """What this thread saves in this block is made for it, and is not copied: nobody can change it."""
    token = _is_made_for_it.set(True)
    try:
        yield
    finally:
        _is_made_for_it.reset(token)


class _InPlaceOfSave:
    """Stands in for `torch.save` while some thread holds back; what other threads save goes on to the real one."""

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
        name, held, save = _name(f), _held.get(), self._save
        if name is None or held is None:
            save(obj, f, *args, **named)
        elif _is_made_for_it.get():
            held[1][name] = lambda path: save(obj, path, *args, **named)
        elif held[2](name, obj):
            return
        elif _is_plain(obj):
            settled = as_it_is(obj)
            held[1][name] = lambda path: save(settled, path, *args, **named)
        else:
            # A copy might take memory that is not there: a scheduler can hold on to the optimizer.
            written = io.BytesIO()
            save(obj, written, *args, **named)
            held[1][name] = lambda path: path.write_bytes(written.getbuffer())


_in_place_of_save = _InPlaceOfSave()


def write_json(path: str, content: Any) -> None:
    """At once, unless it is held back; nobody changes the content any more."""
    name = _name(path)
    if name is None:
        _dump(content, Path(path))
    elif (held := _held.get()) is not None:
        held[1][name] = partial(_dump, content)


def as_it_is(content: Any) -> Any:
    """A copy, equal to the last byte when it is pickled. What takes `deepcopy` long and need not is done for it."""
    memo: dict[Any, Any] = {}
    _copy_quickly(content, memo, _DEPTH)
    return copy.deepcopy(content, memo)


def _is_plain(content: Any, depth: int = 6) -> bool:
    """Made of what is copied as quickly as it is written. What goes deeper, or round, is written."""
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
        # Where PyTorch looks for the memory that others share with it.
        memo.setdefault("torch", {})[value.untyped_storage()._cdata] = copied.untyped_storage()
    elif kind is tuple and _NUMBERS.issuperset(map(type, value)):
        memo[id(value)] = value
    elif depth and kind in (dict, list, tuple):
        for part in value.values() if kind is dict else value:
            _copy_quickly(part, memo, depth - 1)


def _name(file: Any) -> str | None:
    """What the file is called in the folder whose files this thread holds back, if it is one of them."""
    held = _held.get()
    if held is None or not isinstance(file, str | PathLike):
        return None
    path = fspath(file)
    return path.removeprefix(held[0]) if isinstance(path, str) and path.startswith(held[0]) else None


def _dump(content: Any, path: Path) -> None:
    path.write_text(json.dumps(content))
