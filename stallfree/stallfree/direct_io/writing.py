"""Writing memory to a file past the page cache, by several threads at once."""

import ctypes
import errno
import fcntl
import mmap
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, wait
from contextlib import contextmanager
from pathlib import Path

from stallfree.checkpoint.timing import phase

_CHUNK_BYTES = 16 * 1024 * 1024
_NOT_HERE = {errno.EINVAL, errno.ENOTSUP}

_libc = ctypes.CDLL(None, use_errno=True)


def write_durably(
    path: Path,
    whole_pages: memoryview,
    size: int,
    writers: Executor,
    wait_for: Callable[[int], None] = lambda end: None,
) -> None:
    """The file has the first `size` bytes of the pages, and they are on the disk, when this returns.

    `wait_for` returns when all bytes before `end` are what they are to be: what is, is written before the rest is.
    """

    def write_part(at: int) -> None:
        chunk = whole_pages[at : at + _CHUNK_BYTES]
        wait_for(min(at + len(chunk), size))
        write(handle, chunk, at)

    with durable_file(path, size) as handle:
        starts = range(0, len(whole_pages), _CHUNK_BYTES)
        chunks = [writers.submit(write_part, at) for at in starts]
        # All of them, also after a fault: the file may not be closed under a thread that writes.
        wait(chunks)
        for chunk in chunks:
            chunk.result()


@contextmanager
def durable_file(path: Path, size: int) -> Iterator[int]:
    """What is written in this block, in whole pages, is on the disk when it ends, up to this size."""
    handle = _open(path)
    try:
        _allocate(handle, -(-size // mmap.PAGESIZE) * mmap.PAGESIZE)
        yield handle
        os.ftruncate(handle, size)
        with phase("fsync"):
            os.fsync(handle)
    finally:
        os.close(handle)


def _open(path: Path) -> int:
    flags = os.O_CREAT | os.O_WRONLY | os.O_TRUNC
    try:
        return os.open(path, flags | os.O_DIRECT, 0o644)
    except OSError as error:
        if error.errno not in _NOT_HERE:
            raise
        return os.open(path, flags, 0o644)


def _allocate(handle: int, size: int) -> None:
    """Threads that write into allocated room do not wait for each other. Python's own call writes where this cannot."""
    if _libc.fallocate(handle, 0, ctypes.c_long(0), ctypes.c_long(size)) != 0:
        code = ctypes.get_errno()
        if code not in {errno.ENOTSUP, errno.ENOSYS}:
            raise OSError(code, os.strerror(code))


def write(handle: int, chunk: memoryview, at: int) -> None:
    while chunk:
        try:
            written = os.pwrite(handle, chunk, at)
        except OSError as error:
            flags = fcntl.fcntl(handle, fcntl.F_GETFL)
            if error.errno not in _NOT_HERE or not flags & os.O_DIRECT:
                raise
            # Opened, but not written, past the cache: this file goes through it; the fsync is the same.
            fcntl.fcntl(handle, fcntl.F_SETFL, flags & ~os.O_DIRECT)
            continue
        chunk, at = chunk[written:], at + written
