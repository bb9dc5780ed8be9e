"""What a file is to be: where each of its bytes comes from."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import torch


class CannotOverlap(Exception):
    """This training's state cannot be laid out as file images; the message says why."""


@dataclass(frozen=True)
class Source:
    """Live memory whose bytes stand in the file from `offset` on."""

    name: str
    offset: int
    memory: torch.Tensor
    """Its bytes, flat: the same memory, kept alive by this."""
    counting: torch.Tensor | None = None
    """A tensor that counts the changes of this memory, if they are watched."""

    @property
    def size_bytes(self) -> int:
        return self.memory.nbytes

    @property
    def end(self) -> int:
        return self.offset + self.size_bytes


class Content(Protocol):
    """Of a file. A slice may be shorter than asked, if not all is in memory; slices are read in order."""

    def __len__(self) -> int: ...
    def __getitem__(self, wanted: slice, /) -> memoryview: ...
    def __setitem__(self, place: slice, content: bytes, /) -> None: ...


def _nothing_to_seal(content: Content) -> Iterator[int]:
    yield len(content)


@dataclass(frozen=True)
class Layout:
    name: str
    size_bytes: int
    fixed: tuple[tuple[int, bytes], ...]
    """What is not copied from anywhere, and where it stands."""
    sources: tuple[Source, ...]
    seal: Callable[[Content], Iterator[int]] = _nothing_to_seal
    """Fills in what depends on the copied bytes, from the beginning on, and yields how many bytes are final."""


def check_plain(tensor: object, name: str) -> None:
    """CannotOverlap if a weight is not plain memory."""
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter) or tensor.layout is not torch.strided:  # type: ignore[attr-defined]
        raise CannotOverlap(f"{name} is a {type(tensor).__name__}")
    check_device(tensor.device)  # type: ignore[attr-defined]


def check_device(device: torch.device) -> None:
    if device.type not in ("cpu", "cuda"):
        raise CannotOverlap(f"its state is on {device}, and only the memory of hosts and of CUDA devices is overlapped")
