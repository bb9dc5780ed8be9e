"""Reading files by several threads at once, past the page cache, their checksums taken on the way."""

import errno
import fcntl
import os
import threading
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from awscrt.checksums import combine_crc64nvme, crc64nvme

_CHUNK_BYTES = 8 * 1024 * 1024
_READERS = 4
_NOT_HERE = {errno.EINVAL, errno.ENOTSUP}


class EndsEarly(OSError):
    """A file became shorter while it was read."""


@dataclass(frozen=True)
class Wanted:
    path: Path
    size_bytes: int
    pages: memoryview | None = None
    """Where its bytes are to stand, past the cache; None: the Trainer will read it from the cache."""


def read(files: Sequence[Wanted], *, past_the_cache: bool = True) -> Generator[int, None, None]:
    """Fill the pages of each file. As each is done, in their order: its CRC64NVME, of the very bytes that stand there.

    Close the generator to read nothing more.
    """
    with ExitStack() as handles, ThreadPoolExecutor(_READERS, thread_name_prefix="stallfree-reader") as readers:
        chunks = []
        for file in files:
            handle = _open(file.path, past_the_cache and file.pages is not None)
            handles.callback(os.close, handle)
            starts = range(0, file.size_bytes, _CHUNK_BYTES)
            chunks.append([(_length(file, at), readers.submit(_read_chunk, handle, file, at)) for at in starts])
        try:
            for parts in chunks:
                checksum = 0
                for length, part in parts:
                    checksum = combine_crc64nvme(checksum, part.result(), length)
                yield checksum
        finally:
            # No handle is closed under a thread that reads: what has begun is waited for.
            readers.shutdown(cancel_futures=True)


def _length(file: Wanted, start: int) -> int:
    return min(_CHUNK_BYTES, file.size_bytes - start)


def _open(path: Path, past_the_cache: bool) -> int:
    try:
        return os.open(path, os.O_RDONLY | (os.O_DIRECT if past_the_cache else 0))
    except OSError as error:
        if not past_the_cache or error.errno not in _NOT_HERE:
            raise
        return os.open(path, os.O_RDONLY)


_own = threading.local()


def _read_chunk(handle: int, file: Wanted, start: int) -> int:
    length = _length(file, start)
    if file.pages is not None:
        # Up to the end of a page: a direct read ends with one, or with the file.
        into = file.pages[start : start + _CHUNK_BYTES]
    else:
        if not hasattr(_own, "scratch"):
            _own.scratch = memoryview(bytearray(_CHUNK_BYTES))
        into = _own.scratch[:length]
    filled = 0
    while filled < length:
        filled += _read_some(handle, into[filled:], start + filled)
    checksum: int = crc64nvme(into[:length])
    return checksum


def _read_some(handle: int, into: memoryview, at: int) -> int:
    try:
        got = os.preadv(handle, [into], at)
    except OSError as error:
        flags = fcntl.fcntl(handle, fcntl.F_GETFL)
        if error.errno not in _NOT_HERE or not flags & os.O_DIRECT:
            raise
        # Opened, but not read, past the cache: this file goes through it.
        fcntl.fcntl(handle, fcntl.F_SETFL, flags & ~os.O_DIRECT)
        return 0
    if not got:
        raise EndsEarly(f"it ends at {at}")
    return got
