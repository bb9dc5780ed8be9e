"""What this machine can do at best with as many bytes: copy them, write them, read them."""

import ctypes
import mmap
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tools.benchmarks.checkpoint.measured import Value

_CHUNK_BYTES = 16 * 1024 * 1024
_HUGE_PAGE_BYTES = 2 * 1024 * 1024
_THREADS = 2
_O_DIRECT = getattr(os, "O_DIRECT", 0)


@dataclass(frozen=True)
class Floors:
    """A direct write depends on the pages that it comes from: ordinary ones, as `dd` has them, or huge ones."""

    memcpy: Value
    write: Value
    write_from_huge_pages: Value


def measure(size: int, folder: Path, rounds: int) -> Floors:
    """In turns. Direct writes in a row, by two threads, the file whole and on the disk at the end."""
    source, target, ordinary = memory(size, huge=True), memory(size, huge=True), memory(size, huge=False)
    file = folder / "floor"
    seconds: list[list[float]] = []
    for _ in range(rounds):
        seconds.append([timed(lambda: ctypes.memmove(_address(target), _address(source), size))])
        for kind in (ordinary, source):
            seconds[-1].append(timed(lambda kind=kind: _write(file, kind)))  # type: ignore[misc]
            file.unlink()
    return Floors(*(Value.of(values) for values in zip(*seconds, strict=True)))


def memory(size: int, *, huge: bool) -> mmap.mmap:
    unit = _HUGE_PAGE_BYTES if huge else mmap.PAGESIZE
    taken = mmap.mmap(-1, -(-size // unit) * unit, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(OSError):  # This kernel has no choice of pages.
        taken.madvise(mmap.MADV_HUGEPAGE if huge else mmap.MADV_NOHUGEPAGE)
    # Not zeros, which some disks do not write; and touched, so that no page is made while it is timed.
    ctypes.memset(_address(taken), 0x5A, len(taken))
    return taken


def timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def read(files: list[Path], *, huge: bool) -> Callable[[], None]:
    """Direct reads in a row, by two threads, into the same few pages again and again."""
    pages = [memory(_CHUNK_BYTES, huge=huge) for _ in range(_THREADS)]

    def read_all() -> None:
        handles = [os.open(file, os.O_RDONLY | _O_DIRECT) for file in files]
        chunks = [(handle, at) for handle in handles for at in range(0, os.fstat(handle).st_size, _CHUNK_BYTES)]

        def every_other(reader: int) -> None:
            for handle, at in chunks[reader::_THREADS]:
                os.preadv(handle, [pages[reader]], at)

        with ThreadPoolExecutor(_THREADS) as readers:
            list(readers.map(every_other, range(_THREADS)))
        for handle in handles:
            os.close(handle)

    return read_all


def _address(taken: mmap.mmap) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(taken))


def _write(file: Path, source: mmap.mmap) -> None:
    handle = os.open(file, os.O_CREAT | os.O_WRONLY | _O_DIRECT, 0o644)

    def write_one(at: int) -> None:
        chunk = whole[at : at + _CHUNK_BYTES]
        written = 0
        while written < len(chunk):
            written += os.pwrite(handle, chunk[written:], at + written)

    try:
        os.posix_fallocate(handle, 0, len(source))
        with memoryview(source) as whole, ThreadPoolExecutor(_THREADS) as threads:
            list(threads.map(write_one, range(0, len(whole), _CHUNK_BYTES)))
        os.fsync(handle)
    finally:
        os.close(handle)
