"""Bytes in memory, as the tensors that they are. Nothing is copied: the tensors keep the memory alive."""

import io
import json
from collections.abc import Callable
from typing import Any

import torch

from stallfree.internals.pytorch import offset_in_file


class NotPlain(Exception):
    """The file holds something other than plain tensors; the message says what."""


_SAFETENSORS = {
    "U64": torch.uint64,
    "I64": torch.int64,
    "F64": torch.float64,
    "C64": torch.complex64,
    "F32": torch.float32,
    "U32": torch.uint32,
    "I32": torch.int32,
    "BF16": torch.bfloat16,
    "F16": torch.float16,
    "U16": torch.uint16,
    "I16": torch.int16,
    "I8": torch.int8,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}
_LEAVES = (int, float, complex, bool, str, bytes, type(None), torch.dtype, torch.device, torch.Size)


def of_safetensors(content: memoryview) -> dict[str, torch.Tensor]:
    begin = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(bytes(content[8:begin]))
    header.pop("__metadata__", None)
    return {name: _weight(content, begin, name, entry) for name, entry in header.items()}


def _weight(content: memoryview, begin: int, name: str, entry: dict[str, Any]) -> torch.Tensor:
    if entry["dtype"] not in _SAFETENSORS:
        raise NotPlain(f"{name} is of the type {entry['dtype']}")
    start, end = entry["data_offsets"]
    return _storage(content, begin + start, end - start, _SAFETENSORS[entry["dtype"]]).view(entry["shape"])


def of_torch_file(content: memoryview) -> Any:
    """What `torch.load(weights_only=True)` answers. PyTorch reads all but the data: it notes where that stands."""
    skeleton = torch.load(io.BufferedReader(_File(content)), map_location="meta", weights_only=True)
    storages: dict[int, torch.UntypedStorage] = {}

    def fill(tensor: torch.Tensor) -> torch.Tensor:
        if type(tensor) is not torch.Tensor or tensor.layout is not torch.strided:
            raise NotPlain(f"it holds a {type(tensor).__name__}")
        hole: Any = tensor.untyped_storage()
        at = offset_in_file(hole)
        if at not in storages:
            storages[at] = _storage(content, at, hole.nbytes(), torch.uint8).untyped_storage()
        empty = torch.empty(0, dtype=tensor.dtype)
        return empty.set_(storages[at], tensor.storage_offset(), tensor.shape, tensor.stride())

    return _filled(skeleton, fill)


def _filled(value: Any, fill: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    if isinstance(value, torch.Tensor):
        return fill(value)
    if isinstance(value, _LEAVES):
        return value
    if isinstance(value, dict):
        # In place: it may be of a kind of its own, and keeps what else it carries.
        for key, item in value.items():
            value[key] = _filled(item, fill)
        return value
    if type(value) in (list, tuple, set):
        return type(value)(_filled(item, fill) for item in value)
    raise NotPlain(f"it holds a {type(value).__name__}")


def _storage(content: memoryview, at: int, size_bytes: int, dtype: torch.dtype) -> torch.Tensor:
    if not size_bytes:
        return torch.empty(0, dtype=dtype)
    return torch.frombuffer(content, dtype=dtype, count=size_bytes // dtype.itemsize, offset=at)


class _File(io.RawIOBase):
    """Memory, read as a file."""

    def __init__(self, content: memoryview) -> None:
        self._content = content
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: len(self._content)}[whence] + offset
        return self._at

    def readinto(self, buffer: Any) -> int:
        there = self._content[self._at : self._at + len(buffer)]
        buffer[: len(there)] = there
        self._at += len(there)
        return len(there)
