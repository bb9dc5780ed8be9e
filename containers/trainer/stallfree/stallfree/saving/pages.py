"""Page-aligned memory, and how much of it the host can spare."""

import ctypes
import mmap
import weakref
from collections.abc import Callable
from pathlib import Path

from stallfree.saving.staging import Copies

_TOUCHED_AT_ONCE_BYTES = 64 * 1024 * 1024
_ROOM_TO_GROW_BYTES = 1024 * 1024


class Pages:
    """Memory that direct writes accept. It is touched when it is taken: a save must not wait for the kernel's zeros."""

    def __init__(self, copies: Copies) -> None:
        self._copies = copies
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
        # The old ones go first: never two copies at a time.
        self._unpin()
        self._view, self._memory = memoryview(b""), None
        capacity = self.round_up(size + _ROOM_TO_GROW_BYTES)
        memory = mmap.mmap(-1, capacity, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        # A data loader's forked workers must neither see these pages nor make the next copy pay for sharing them.
        memory.madvise(mmap.MADV_DONTFORK)
        self._memory, self._view = memory, memoryview(memory)
        self._address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        for start in range(0, capacity, _TOUCHED_AT_ONCE_BYTES):
            ctypes.memset(self._address + start, 0, min(_TOUCHED_AT_ONCE_BYTES, capacity - start))
        self._copies.pin(self._address, capacity)
        # Before the pages go, whoever lets go of them; at the end of the process all goes at once.
        self._unpin = unpin = weakref.finalize(self, self._copies.unpin, self._address)
        unpin.atexit = False


def available_bytes() -> int:
    """What could be taken without swapping: the host's, or what this process's control groups leave of it."""
    meminfo = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
    host = int(meminfo["MemAvailable"].split()[0]) * 1024
    return min([host, *_left_by_control_groups()])


def _left_by_control_groups() -> list[int]:
    own = next((line[3:] for line in Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::")), "/")
    root = Path("/sys/fs/cgroup")
    folder = root / own.lstrip("/")
    left = []
    for group in [folder, *folder.parents]:
        limit = group / "memory.max"
        if group.is_relative_to(root) and limit.exists() and (most := limit.read_text().strip()) != "max":
            counted = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
            # Cached files are given up when someone needs the room.
            used = int((group / "memory.current").read_text()) - int(counted["inactive_file"])
            left.append(int(most) - used)
    return left
