"""`python -m benchmarks.checkpoint [--help]`: the whole comparison, in one run, on a machine that does nothing else."""

import os
import platform
import shutil
import sys
import time
from collections.abc import Sequence
from importlib import metadata

import torch
from rich.console import Console

from benchmarks.checkpoint import bars, checksums, cuda, floors, growth, loop, restoring
from benchmarks.checkpoint.floors import Floors
from benchmarks.checkpoint.options import Options, parse
from benchmarks.checkpoint.peers.all import WAYS
from benchmarks.checkpoint.running import SCRATCH
from benchmarks.figures import Figure, publish

_BUSY_WAYS = ("none", "trainer", "overlapped", "dcp-thread-best", "meta-best")
_QUIET_LOAD = 0.7
_WIDTH = 150
_PACKAGES = ("torch", "transformers", "accelerate", "safetensors", "torch_checkpointing")


def checkpoint(console: Console, options: Options) -> list[Figure]:
    began = time.perf_counter()
    about = versions()
    console.print(", ".join(f"{name} {version}" for name, version in about.items()), highlight=False)
    if (load := os.getloadavg()[0]) > _QUIET_LOAD:
        console.print(f"[yellow]Something else runs here (load {load:.1f}): most figures will be noise.[/]")
    SCRATCH.mkdir(parents=True)
    try:
        figures, missing = _measure(console, options)
    finally:
        shutil.rmtree(SCRATCH)
    about |= {"load_at_end": f"{os.getloadavg()[0]:.1f}", "seconds": f"{time.perf_counter() - began:.0f}"}
    about |= {f"not measured: {name}": reason for name, reason in missing.items()}
    publish(console, "checkpoint-quick" if options.is_quick else "checkpoint", figures, about)
    return figures


def versions() -> dict[str, str]:
    about = {"python": platform.python_version(), "linux": platform.release()}
    for name in _PACKAGES:
        try:
            about[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            about[name] = "not installed"
    return about | {"cores": str(os.cpu_count()), "load_at_begin": f"{os.getloadavg()[0]:.1f}"}


def _measure(console: Console, options: Options) -> tuple[list[Figure], dict[str, str]]:
    figures: list[Figure] = []
    missing: dict[str, str] = {}
    if "idle" in options.parts:
        _compare(console, options, "sleeping", options.ways, figures, missing)
    if "busy" in options.parts:
        _compare(console, options, "busy", [way for way in options.ways if way in _BUSY_WAYS], figures, missing)
    if "checksums" in options.parts:
        figures += checksums.measure(console, options)
    if "sizes" in options.parts:
        figures += growth.by_size(console, options)
    if "ranks" in options.parts:
        figures += growth.by_ranks(console, options)
    if "restoring" in options.parts:
        # After the trainings: it takes threads, which must not be there when one is forked.
        figures += restoring.measure(console, options)
    if "cuda" in options.parts:
        of_cuda, why_not = cuda.measure(console, options)
        figures += of_cuda
        missing |= why_not
    return figures, missing


def _compare(
    console: Console,
    options: Options,
    how: str,
    ways: Sequence[str],
    figures: list[Figure],
    missing: dict[str, str],
) -> None:
    mode = {"sleeping": "idle", "busy": "busy"}[how]
    seen, not_seen = loop.compare(console, options, how, ways)
    found = _floors(console, options, seen["overlapped"].bytes) if "overlapped" in seen else None
    loop.show(console, f"One save among training steps, the CPU {mode}", seen, not_seen)
    figures += loop.figures(mode, seen)
    if found is not None:
        for name, value in vars(found).items():
            figures.append(Figure(f"{mode}: floor, {name}", value.median, "s", remark=f"± {value.spread:.2g}"))
    figures += bars.of_loop(mode, seen, found)
    missing |= {f"{mode}, {WAYS[name].title}": reason for name, reason in not_seen.items()}


def _floors(console: Console, options: Options, size: int) -> Floors:
    console.print("[dim]floors: memcpy, direct write, direct read ...[/]")
    return floors.measure(size, SCRATCH, options.rounds)


if __name__ == "__main__":
    # Before the first training: its threads would outlive the forks that follow.
    torch.set_num_threads(1)
    checkpoint(Console(width=None if sys.stdout.isatty() else _WIDTH), parse(sys.argv[1:]))
