"""A file laid out in memory: the pages that hold its bytes."""

import base64
from collections.abc import Iterable
from dataclasses import replace

from awscrt.checksums import crc64nvme

from stallfree.checkpoint.manifest import File
from stallfree.saving.images.copies import Copies
from stallfree.saving.images.final_bytes import FinalBytes
from stallfree.saving.images.layout import Layout, Source
from stallfree.saving.images.pages import Pages

_BLOCK_BYTES = 64 * 1024 * 1024


class Image:
    """The one copy of a file's content. Its memory is kept from save to save."""

    def __init__(self, copies: Copies) -> None:
        self._copies = copies
        self._pages = Pages(copies)
        self._layout: Layout | None = None
        self._final = FinalBytes()

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
        """Queue copies of live memory into the image."""
        self._final = FinalBytes()
        self._copies.copy(self._pages.address, sources)

    def let_sources_go(self) -> None:
        """They are copied, and not needed for another save: their memory may be freed."""
        self._layout = replace(self.layout, sources=())

    def seal(self) -> None:
        try:
            for end in self.layout.seal(self.content):
                self._final.reach(end)
        finally:
            # Also after a fault: writers wait for this. Such a file is not committed.
            self._final.reach(self.layout.size_bytes)

    def wait_until_final(self, end: int) -> None:
        """Until the bytes before `end` are final."""
        self._final.wait_for(end)

    @property
    def content(self) -> memoryview:
        return self._pages.view[: self.layout.size_bytes]

    @property
    def whole_pages(self) -> memoryview:
        """The content, and what follows it up to the end of its last page."""
        return self._pages.view[: Pages.round_up(self.layout.size_bytes)]

    def describe(self) -> File:
        """The manifest's line, from memory: damage to the bytes after this will be noticed."""
        value, content = 0, self.content
        for start in range(0, len(content), _BLOCK_BYTES):
            self.wait_until_final(min(start + _BLOCK_BYTES, len(content)))
            value = crc64nvme(content[start : start + _BLOCK_BYTES], value)
        checksum = base64.b64encode(value.to_bytes(8, "big")).decode()
        return File(path=self.layout.name, bytes=len(content), crc64nvme=checksum)
