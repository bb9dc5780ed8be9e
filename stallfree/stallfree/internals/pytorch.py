"""Private parts of PyTorch, imported when they are used: where one is gone, `check` can say so first."""

from collections.abc import Iterator
from contextlib import contextmanager
from operator import attrgetter
from typing import Any

import torch

version_of = attrgetter("_version")
"""How often a tensor was changed, except through `.data`."""


def is_made_of_parts(tensor: torch.Tensor) -> bool:
    """It is a tensor subclass that has no memory of its own: its parts have."""
    from torch.utils._python_dispatch import is_traceable_wrapper_subclass

    return is_traceable_wrapper_subclass(tensor)


def parts_of(tensor: Any) -> list[torch.Tensor]:
    return [getattr(tensor, part) for part in tensor.__tensor_flatten__()[0]]


def identity_of(storage: Any) -> int:
    """The same for each object that stands for this memory."""
    return int(storage._cdata)


def offset_in_file(storage: Any) -> int:
    """Where `torch.load` found its data."""
    return int(storage._checkpoint_offset)


def place_in_file(file: str, offset: int, length: int) -> Any:
    """How `torch.distributed.checkpoint` says where a shard stands."""
    from torch.distributed.checkpoint.filesystem import _StorageInfo

    return _StorageInfo(file, offset, length)


@contextmanager
def with_data() -> Iterator[None]:
    """Inside of `torch.serialization.skip_data`: what is saved in this block has its data."""
    local = torch.serialization._serialization_tls
    local.skip_data = False
    try:
        yield
    finally:
        local.skip_data = True
