"""A file laid out in memory: where each of its bytes comes from, and the memory that holds them."""

import base64
import ctypes
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from awscrt.checksums import crc64nvme

from stallfree.checkpoint.manifest import File
from stallfree.saving.pages import Pages

_BLOCK_BYTES = 64 * 1024 * 1024


class CannotOverlap(Exception):
    """This training's state cannot be laid out as file images; the message says why."""


@dataclass(frozen=True)
class Source:
    """Live memory whose bytes stand in the file from `offset` on. Holding the tensor keeps that memory alive."""

    name: str
    offset: int
    address: int
    size_bytes: int
    tensor: torch.Tensor


def _nothing_to_seal(content: memoryview) -> None:
    pass


@dataclass(frozen=True)
class Layout:
    name: str
    size_bytes: int
    fixed: tuple[tuple[int, bytes], ...]
    """What is not copied from anywhere, and where it stands."""
    sources: tuple[Source, ...]
    seal: Callable[[memoryview], None] = _nothing_to_seal
    """Fills in what depends on the copied bytes."""


class Image:
    """The one copy of a file's content. Its memory is kept from save to save."""

    def __init__(self) -> None:
        self._pages = Pages()
        self._layout: Layout | None = None

    @property
    def layout(self) -> Layout:
        assert self._layout is not None, "an image is laid out before it is used"
        return self._layout

    def reserve(self, size: int) -> None:
        """Take the memory now, so that no save has to wait for it."""
        self._pages.reserve(size)

    def lay_out(self, layout: Layout) -> None:
        self.reserve(layout.size_bytes)
        self._layout = layout
        for offset, content in layout.fixed:
            self._pages.view[offset : offset + len(content)] = content

    def take(self, sources: Iterable[Source]) -> None:
        """Copy live memory into the image. ctypes lets other threads run meanwhile, and uses none itself."""
        base = self._pages.address
        for source in sources:
            ctypes.memmove(base + source.offset, source.address, source.size_bytes)

    def seal(self) -> None:
        self.layout.seal(self.content)

    @property
    def content(self) -> memoryview:
        return self._pages.view[: self.layout.size_bytes]

    @property
    def whole_pages(self) -> memoryview:
        """The content, and what follows it up to the end of its last page."""
        return self._pages.view[: Pages.round_up(self.layout.size_bytes)]

    def describe(self) -> File:
        """The manifest's line, from memory: whatever happens to the bytes from here on will show."""
        value, content = 0, self.content
        for start in range(0, len(content), _BLOCK_BYTES):
            value = crc64nvme(content[start : start + _BLOCK_BYTES], value)
        checksum = base64.b64encode(value.to_bytes(8, "big")).decode()
        return File(path=self.layout.name, bytes=len(content), crc64nvme=checksum)
