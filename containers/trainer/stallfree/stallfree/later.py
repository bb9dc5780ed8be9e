"""Files whose content is settled now and that are written later, so that nobody waits for a disk."""

import copy
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import torch

Write = Callable[[Path], object]
"""Gets where the file is to be."""

_NUMBERS = {int, float, bool, type(None)}
_DEPTH = 3

_held: ContextVar[tuple[str, dict[str, Write]] | None] = ContextVar("stallfree_held", default=None)


@contextmanager
def held_back(folder: Path) -> Iterator[dict[str, Write]]:
    """What this thread saves below the folder with `torch.save` or `write_json` is kept in memory, as it is now.

    Whoever writes it later finds it here, by its name in the folder.
    """
    save, writes = torch.save, dict[str, Write]()

    def hold(content: Any, file: Any, *args: Any, **named: Any) -> None:
        name = _name(file)
        if name is None:
            save(content, file, *args, **named)
        else:
            settled = as_it_is(content)
            writes[name] = lambda path: save(settled, path, *args, **named)

    token = _held.set((f"{folder}/", writes))
    _put_in_place_of_save(hold)
    try:
        yield writes
    finally:
        _put_in_place_of_save(save)
        _held.reset(token)


def write_json(path: Path, content: Any) -> None:
    """At once, unless it is held back; nobody changes the content any more."""
    name = _name(path)
    if name is None:
        _dump(content, path)
    elif (held := _held.get()) is not None:
        held[1][name] = partial(_dump, content)


def as_it_is(content: Any) -> Any:
    """A copy, equal to the last byte when it is pickled. What takes `deepcopy` long and need not is done for it."""
    memo: dict[Any, Any] = {}
    _copy_quickly(content, memo, _DEPTH)
    return copy.deepcopy(content, memo)


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


def _put_in_place_of_save(save: Callable[..., None]) -> None:
    torch.save = save  # other threads' calls go on to PyTorch's own
