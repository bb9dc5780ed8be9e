"""A file that is written chunk by chunk, through memory that is used again and again."""

from collections.abc import Iterator
from concurrent.futures import Executor, Future
from dataclasses import replace
from itertools import cycle
from pathlib import Path

from awscrt.checksums import crc64nvme

from stallfree.checkpoint.manifest import File, as_s3_reports
from stallfree.direct_io import writing
from stallfree.saving.images.copies import Copies
from stallfree.saving.images.layout import Layout, Source
from stallfree.saving.images.pages import Pages

PARTS = 4
"""Of the memory: while some are written, another is filled."""


def write_in_chunks(path: Path, layout: Layout, pages: Pages, copies: Copies, writers: Executor) -> File:
    """The file is on the disk, and its sources may change, when this returns."""
    with writing.durable_file(path, layout.size_bytes) as handle:
        content = _Content(layout, pages, copies, handle, writers)
        try:
            for _ in layout.seal(content):
                pass
            content.go_to_its_end()
        finally:
            # Also after a fault: the file may not be closed under a thread that writes.
            content.wait_until_written()
    return File(path=layout.name, bytes=layout.size_bytes, crc64nvme=as_s3_reports(content.crc64nvme))


class _Content:
    """Looks like the whole file to a seal, which reads from the beginning on; a slice ends where the chunk does."""

    def __init__(self, layout: Layout, pages: Pages, copies: Copies, handle: int, writers: Executor) -> None:
        self._layout = layout
        self._pages = pages
        self._copies = copies
        self._handle = handle
        self._writers = writers
        self._part_bytes = len(pages.view) // PARTS
        self._rooms = cycle(range(0, self._part_bytes * PARTS, self._part_bytes))
        self._room = 0
        self._being_written: dict[int, Future[None]] = {}
        self._fixed = list(layout.fixed)
        self._begin = self._end = 0
        self.crc64nvme = 0

    def __len__(self) -> int:
        return self._layout.size_bytes

    def __getitem__(self, wanted: slice) -> memoryview:
        while wanted.start >= self._end:
            self._go_on()
        return self._there[wanted.start - self._begin : wanted.stop - self._begin]

    def __setitem__(self, place: slice, content: bytes) -> None:
        self._fixed.append((place.start, content))
        self._put(place.start, content)

    def go_to_its_end(self) -> None:
        while self._end < len(self):
            self._go_on()
        self._write()

    def wait_until_written(self) -> None:
        for write in self._being_written.values():
            write.exception()
        for write in self._being_written.values():
            write.result()

    @property
    def _there(self) -> memoryview:
        return self._pages.view[self._room : self._room + self._end - self._begin]

    def _go_on(self) -> None:
        self._write()
        self._room = next(self._rooms)
        if self._room in self._being_written:
            self._being_written[self._room].result()
        self._begin, self._end = self._end, min(self._end + self._part_bytes, len(self))
        for at, content in self._fixed:
            self._put(at, content)
        self._copies.copy(self._pages.address + self._room - self._begin, self._sources_there())
        self._copies.finish()

    def _write(self) -> None:
        """The seal has filled in what it had to in this chunk."""
        if self._begin == self._end:
            return
        self.crc64nvme = crc64nvme(self._there, self.crc64nvme)
        whole_pages = self._pages.view[self._room : self._room + Pages.round_up(self._end - self._begin)]
        self._being_written[self._room] = self._writers.submit(writing.write, self._handle, whole_pages, self._begin)

    def _put(self, at: int, content: bytes) -> None:
        begin, end = max(at, self._begin), min(at + len(content), self._end)
        if begin < end:
            self._there[begin - self._begin : end - self._begin] = content[begin - at : end - at]

    def _sources_there(self) -> Iterator[Source]:
        for source in self._layout.sources:
            begin, end = max(source.offset, self._begin), min(source.end, self._end)
            if begin < end:
                yield replace(source, offset=begin, memory=source.memory[begin - source.offset : end - source.offset])
