"""What this machine can do at best with as many bytes: copy them, write them, read them."""

import ctypes
import mmap
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from benchmarks.checkpoint.measured import Value

_CHUNK_BYTES = 16 * 1024 * 1024
_THREADS = 2
_O_DIRECT = getattr(os, "O_DIRECT", 0)


@dataclass(frozen=True)
class Floors:
    memcpy: Value
    write: Value
    read: Value


def measure(size: int, folder: Path, rounds: int) -> Floors:
    """Direct writes and reads in a row, by two threads, each file whole and on the disk at the end."""
    size = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
    source, target = _memory(size), _memory(size)
    file = folder / "floor"
    try:
        return Floors(
            memcpy=_timed(rounds, lambda: ctypes.memmove(_address(target), _address(source), size)),
            write=_timed(rounds, lambda: _write(file, source), between=lambda: file.unlink(missing_ok=True)),
            read=_timed(rounds, lambda: _read(file, target)),
        )
    finally:
        file.unlink(missing_ok=True)


def _memory(size: int) -> mmap.mmap:
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    # Not zeros, which some disks do not write; and touched, so that no page is made while it is timed.
    ctypes.memset(_address(memory), 0x5A, size)
    return memory


def _address(memory: mmap.mmap) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(memory))


def _write(file: Path, memory: mmap.mmap) -> None:
    handle = os.open(file, os.O_CREAT | os.O_WRONLY | _O_DIRECT, 0o644)
    try:
        os.posix_fallocate(handle, 0, len(memory))
        _by_chunks(memory, lambda chunk, at: os.pwrite(handle, chunk, at))
        os.fsync(handle)
    finally:
        os.close(handle)


def _read(file: Path, memory: mmap.mmap) -> None:
    handle = os.open(file, os.O_RDONLY | _O_DIRECT)
    try:
        _by_chunks(memory, lambda chunk, at: os.preadv(handle, [chunk], at))
    finally:
        os.close(handle)


def _by_chunks(memory: mmap.mmap, move: Callable[[memoryview, int], int]) -> None:
    def move_one(at: int) -> None:
        chunk = whole[at : at + _CHUNK_BYTES]
        moved = 0
        while moved < len(chunk):
            moved += move(chunk[moved:], at + moved)

    with memoryview(memory) as whole, ThreadPoolExecutor(_THREADS) as threads:
        list(threads.map(move_one, range(0, len(whole), _CHUNK_BYTES)))


def _timed(rounds: int, work: Callable[[], object], between: Callable[[], None] = lambda: None) -> Value:
    seconds = []
    for _ in range(rounds):
        between()
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return Value.of(seconds)
