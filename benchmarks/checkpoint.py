"""What a checkpoint costs training: the Trainer's own save, stallfree's two ways, and the floors of this machine.

`python -m benchmarks.checkpoint`, on a machine that does nothing else: about four minutes, and 8 GB of disk.
"""

import ctypes
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch
import transformers
from rich.console import Console
from stallfree.saving.direct import write_durably
from stallfree.saving.pages import Pages

from benchmarks.checkpoint_training import SAVES, STEPS_PER_SAVE
from benchmarks.figures import FOLDER, Figure, publish

_REPOSITORY = Path(__file__).parent.parent
_SCRATCH = FOLDER.parent / "checkpoint"
_WAYS = ("none", "default", "plain", "overlapped")
_ROUNDS = 5


def checkpoint(console: Console) -> None:
    console.print(
        f"PyTorch {torch.__version__}, transformers {transformers.__version__}, {platform.machine()}, "
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; {SAVES} saves, one every {STEPS_PER_SAVE} steps"
    )
    shutil.rmtree(_SCRATCH, ignore_errors=True)
    _SCRATCH.mkdir(parents=True)
    try:
        seen = {}
        for way in _WAYS:
            seen[way] = _train(way)
            console.print(f"[dim]{way}: {seen[way]}[/]")
        size = seen["overlapped"]["bytes"]
        memcpy, write = _memcpy_seconds(size), _write_seconds(size)
        publish(console, "checkpoint", _figures(seen, memcpy, write))
    finally:
        shutil.rmtree(_SCRATCH)


def _train(way: str) -> dict[str, Any]:
    """Each in a process of its own, so that none finds memory or caches that another one left."""
    folder = _SCRATCH / way
    subprocess.run(
        [sys.executable, "-m", "benchmarks.checkpoint_training", way, str(folder)],
        cwd=_REPOSITORY,
        env={**os.environ, "PYTHONPATH": str(_REPOSITORY / "containers/trainer/stallfree"), "OMP_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    figures: dict[str, Any] = json.loads(folder.with_suffix(".json").read_text())
    shutil.rmtree(folder)
    os.sync()
    return figures


def _memcpy_seconds(size: int) -> float:
    source, target = Pages(), Pages()
    source.reserve(size)
    target.reserve(size)
    return _median_seconds(lambda: ctypes.memmove(target.address, source.address, size))


def _write_seconds(size: int) -> float:
    pages = Pages()
    pages.reserve(size)
    # Not zeros, which some disks do not write.
    ctypes.memset(pages.address, 0x5A, size)
    file = _SCRATCH / "floor"
    with ThreadPoolExecutor(2) as writers:
        return _median_seconds(lambda: write_durably(file, pages.view[: Pages.round_up(size)], size, writers))


def _median_seconds(work: Callable[[], object]) -> float:
    seconds = []
    for _ in range(_ROUNDS):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)


def _figures(seen: dict[str, dict[str, Any]], memcpy: float, write: float) -> list[Figure]:
    default, plain, ours = seen["default"], seen["plain"], seen["overlapped"]
    stall = {way: statistics.median(seen[way]["stall_seconds"][1:]) for way in ("default", "plain", "overlapped")}
    cycle = {way: statistics.median(seen[way]["cycle_seconds"]) for way in _WAYS}
    slowdown = {way: cycle[way] - cycle["none"] for way in _WAYS}
    durable = statistics.median(ours["durable_seconds"][1:])
    first = ours["stall_seconds"][0]
    extra = (ours["peak_bytes"] - seen["none"]["peak_bytes"]) / ours["bytes"]
    return [
        Figure("state", ours["bytes"] / 1e9, "GB"),
        Figure("floor: one memcpy of it", memcpy, "s"),
        Figure("floor: one direct write of it", write, "s"),
        Figure("loop blocked per save, Trainer default", stall["default"], "s"),
        Figure("loop blocked per save, plain", stall["plain"], "s"),
        Figure("loop blocked per save, overlapped", stall["overlapped"], "s"),
        _held("... against Trainer default", stall["overlapped"] / stall["default"], 1 / 500),
        _held("... against one memcpy", stall["overlapped"] / memcpy, 1.0),
        Figure("loop blocked by the first save, overlapped", first, "s"),
        _held("... against the Trainer's first", first / default["stall_seconds"][0], 1 / 50),
        Figure("longer first step, to get ready", ours["first_step_seconds"] - seen["none"]["first_step_seconds"], "s"),
        Figure("slowdown per save in all, Trainer default", slowdown["default"], "s"),
        Figure("slowdown per save in all, plain", slowdown["plain"], "s"),
        Figure("slowdown per save in all, overlapped", slowdown["overlapped"], "s"),
        _held("... against Trainer default", slowdown["overlapped"] / slowdown["default"], 1 / 40),
        Figure("time to durable, plain", statistics.median(plain["durable_seconds"][1:]), "s"),
        Figure("time to durable, overlapped", durable, "s"),
        _held("... against the direct write", durable / write, 1.3),
        _held("extra memory at the peak, against the state", extra, 1.05),
    ]


def _held(name: str, value: float, most: float) -> Figure:
    return Figure(name, value, "ratio", f"at most {most:.4g}", value <= most)


if __name__ == "__main__":
    checkpoint(Console())
