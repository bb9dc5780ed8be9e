"""Memory that is kept from save to save."""

import ctypes
import mmap
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from stallfree.direct_io import memory
from stallfree.saving.images.copies import Copies

_TOUCHED_AT_ONCE_BYTES = 64 * 1024 * 1024
_ROOM_TO_GROW_BYTES = 1024 * 1024
_MADV_WIPEONFORK = 18
"""Of Linux since 4.14; Python has no name for it."""
_TOUCHERS = 2
"""A virtual machine may have to ask its host for each page: seconds a gigabyte, and the first save is not to wait."""


class Pages:
    """Memory that direct writes accept. It is touched at once: a save must not wait until the kernel has zeroed it."""

    def __init__(self, copies: Copies, *, room_to_grow_bytes: int = _ROOM_TO_GROW_BYTES) -> None:
        self._copies = copies
        self._room_to_grow_bytes = room_to_grow_bytes
        self._unpin: Callable[[], object] = lambda: None
        self._memory: mmap.mmap | None = None
        self._view = memoryview(b"")
        self._address = 0

    @staticmethod
    def round_up(size: int) -> int:
        return -(-size // mmap.PAGESIZE) * mmap.PAGESIZE

    @property
    def view(self) -> memoryview:
        return self._view

    @property
    def address(self) -> int:
        return self._address

    def reserve(self, size: int) -> None:
        if size <= len(self._view):
            return
        # The old pages are freed first: never two copies at a time.
        self._unpin()
        self._view, self._memory = memoryview(b""), None
        taken = memory.take(size + self._room_to_grow_bytes)
        # A data loader's forked workers must not share these pages: the next copy would be slow. Their addresses stay
        # taken there: anything else mapped to them would be unmapped when the worker frees its `Pages`.
        taken.madvise(_MADV_WIPEONFORK)
        capacity = len(taken)
        self._memory, self._view = taken, memoryview(taken)
        self._address = ctypes.addressof(ctypes.c_char.from_buffer(taken))
        with ThreadPoolExecutor(_TOUCHERS, thread_name_prefix="stallfree-memory") as touchers:
            list(touchers.map(partial(_touch, self._address, capacity), range(0, capacity, _TOUCHED_AT_ONCE_BYTES)))
        self._copies.pin(self._address, capacity)
        # Before the pages are freed. Not needed when the process ends.
        self._unpin = unpin = weakref.finalize(self, self._copies.unpin, self._address)
        unpin.atexit = False


def _touch(address: int, capacity: int, start: int) -> None:
    ctypes.memset(address + start, 0, min(_TOUCHED_AT_ONCE_BYTES, capacity - start))
