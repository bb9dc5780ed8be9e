"""Memory for whole checkpoints: where it begins, of what pages, and how much there is."""

import ctypes
import mmap
from pathlib import Path

import pytest
from stallfree.direct_io import memory

HUGE = 2 * 1024 * 1024


def flags_of(address: int) -> list[str]:
    """What the kernel was told about the mapping that begins there."""
    lines = iter(Path("/proc/self/smaps").read_text().splitlines())
    for line in lines:
        first, _, rest = line.partition("-")
        if rest and int(first, 16) <= address < int(rest.split()[0], 16):
            return next(line for line in lines if line.startswith("VmFlags")).split()
    raise AssertionError("the address is in no mapping")


def address_of(taken: mmap.mmap) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(taken))


@pytest.mark.parametrize("size", [0, 1, mmap.PAGESIZE, mmap.PAGESIZE + 1, HUGE - 1, HUGE, HUGE + 1, 5 * HUGE])
def test_memory_is_as_large_as_asked_and_begins_with_a_page(size: int) -> None:
    taken = memory.take(size)
    assert size <= len(taken) < max(size + HUGE, 2 * mmap.PAGESIZE)
    assert address_of(taken) % mmap.PAGESIZE == 0


@pytest.mark.skipif(
    not Path("/sys/kernel/mm/transparent_hugepage").exists(), reason="this kernel has no huge pages to ask for"
)
def test_much_memory_comes_in_huge_pages() -> None:
    taken = memory.take(20 * HUGE)
    assert "hg" in flags_of(address_of(taken))


def test_a_kernel_that_has_no_huge_pages_gives_ordinary_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    # No kernel knows this advice.
    monkeypatch.setattr(mmap, "MADV_HUGEPAGE", 9999)
    taken = memory.take(HUGE)
    taken[-1] = 7
    assert "hg" not in flags_of(address_of(taken))


def test_there_is_never_more_memory_to_be_had_than_the_host_has() -> None:
    total = int(Path("/proc/meminfo").read_text().split()[1]) * 1024
    assert 0 < memory.available_bytes() < total
