"""This host's memory: how to take much of it, and how much there is to be had."""

import mmap
from contextlib import suppress
from pathlib import Path

HUGE_PAGE_BYTES = 2 * 1024 * 1024


def take(size_bytes: int) -> mmap.mmap:
    """Page-aligned memory of at least this size, not touched yet; in huge pages, where the kernel has them.

    A direct read or write pins every page of its memory and hands each on to the disk: of huge ones there are 512 times
    fewer, and one thread moves nearly twice the bytes a second.
    """
    unit = HUGE_PAGE_BYTES if size_bytes >= HUGE_PAGE_BYTES else mmap.PAGESIZE
    # Whole units: only such memory begins where a huge page may begin.
    size_bytes = max(1, -(-size_bytes // unit)) * unit
    memory = mmap.mmap(-1, size_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(OSError):  # A kernel without them.
        memory.madvise(mmap.MADV_HUGEPAGE)
    return memory


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
            # The kernel drops cached files when memory is needed.
            used = int((group / "memory.current").read_text()) - int(counted["inactive_file"])
            left.append(int(most) - used)
    return left
