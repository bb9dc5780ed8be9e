"""`python -m tools.benchmarks.checkpoint [--help]`: the whole comparison in one run, on an idle machine."""

import os
import platform
import shutil
import sys
from collections.abc import Callable
from importlib import metadata

import torch
from rich.console import Console

from tools.benchmarks.checkpoint import bars, checksums, cuda, floors, growth, loop, restoring
from tools.benchmarks.checkpoint.options import PARTS, Options, parse
from tools.benchmarks.checkpoint.peers.all import WAYS
from tools.benchmarks.checkpoint.progress import Progress
from tools.benchmarks.checkpoint.running import SCRATCH
from tools.figures import Figure, publish

_BUSY_WAYS = ("none", "trainer", "overlapped", "dcp-thread-best", "meta-best")
_QUIET_LOAD = 0.7
_WIDTH = 150
_PACKAGES = ("torch", "transformers", "accelerate", "safetensors", "torch_checkpointing")

Outcome = tuple[list[Figure], dict[str, str]]
"""What was measured, and why the rest was not."""


def checkpoint(console: Console, options: Options) -> bool:
    """Whether every part could be measured. A part that fails takes nothing from the others."""
    about = versions()
    console.print(", ".join(f"{name} {version}" for name, version in about.items()), highlight=False)
    if (load := os.getloadavg()[0]) > _QUIET_LOAD:
        console.print(f"[yellow]Something else runs here (load {load:.1f}): most figures will be noise.[/]")
    progress = Progress(console)
    progress.total = sum(_steps(part, options) for part in options.parts)
    figures: list[Figure] = []
    missing: dict[str, str] = {}
    failed = False
    SCRATCH.mkdir(parents=True)
    try:
        # In their own order: what is forked comes before what leaves threads behind.
        for part in (part for part in PARTS if part in options.parts):
            try:
                found, not_found = _MEASURE[part](progress, options)
            except Exception as error:
                console.print_exception()
                found, not_found, failed = [], {part: f"failed: {error!r}"}, True
            figures += found
            missing |= not_found
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)
        about |= {"load_at_end": f"{os.getloadavg()[0]:.1f}", "seconds": f"{progress.seconds:.0f}"}
        about |= {f"not measured: {name}": reason for name, reason in missing.items()}
        # What is held to something comes last, where it is read first.
        publish(console, options.name, sorted(figures, key=lambda one: bool(one.bar)), about)
        for name, reason in missing.items():
            console.print(f"not measured: {name}: {reason}", highlight=False, markup=False)
    return not failed


def versions() -> dict[str, str]:
    about = {"python": platform.python_version(), "linux": platform.release()}
    for name in _PACKAGES:
        try:
            about[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            about[name] = "not installed"
    return about | {"cores": str(os.cpu_count()), "load_at_begin": f"{os.getloadavg()[0]:.1f}"}


def _idle(progress: Progress, options: Options) -> Outcome:
    return _compare(progress, options, "sleeping", options.ways)


def _busy(progress: Progress, options: Options) -> Outcome:
    return _compare(progress, options, "busy", _busy_ways(options))


def _busy_ways(options: Options) -> tuple[str, ...]:
    return tuple(way for way in options.ways if way in _BUSY_WAYS)


def _compare(progress: Progress, options: Options, how: str, ways: tuple[str, ...]) -> Outcome:
    mode = loop.MODES[how]
    seen, not_seen = loop.compare(progress, options, how, ways)
    found = None
    if "overlapped" in seen:
        progress.next(f"{mode}: the floors, a copy in memory and a direct write")
        found = floors.measure(seen["overlapped"].bytes, SCRATCH, options.rounds)
    loop.show(progress, f"One save among training steps, the CPU {mode}", seen, not_seen)
    figures = loop.figures(mode, seen)
    for name, value in vars(found).items() if found else ():
        words = name.replace("_", " ")
        figures.append(Figure(f"{mode}: floor, {words}", value.median, "s", remark=value.in_words))
    figures += bars.of_loop(mode, seen, found)
    return figures, {f"{mode}, {WAYS[name].title}": reason for name, reason in not_seen.items()}


_MEASURE: dict[str, Callable[[Progress, Options], Outcome]] = {
    "idle": _idle,
    "busy": _busy,
    "checksums": lambda progress, options: (checksums.measure(progress, options), {}),
    "sizes": growth.by_size,
    "ranks": growth.by_ranks,
    "restoring": lambda progress, options: (restoring.measure(progress, options), {}),
    "cuda": cuda.measure,
}


def _steps(part: str, options: Options) -> int:
    """How often a part shows its progress."""
    return {
        "idle": len(options.ways) + ("overlapped" in options.ways),
        "busy": len(_busy_ways(options)) + ("overlapped" in options.ways),
        "checksums": 1,
        "sizes": len(options.sizes_gb),
        "ranks": len(options.ranks),
        "restoring": 2,
        "cuda": len(cuda.WAYS) if torch.cuda.is_available() else 0,
    }[part]


if __name__ == "__main__":
    # To ask for a GPU must not touch it: what is forked afterwards could not use it.
    os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")
    # Before the first training: its threads would outlive the forks that follow.
    torch.set_num_threads(1)
    is_complete = checkpoint(Console(width=None if sys.stdout.isatty() else _WIDTH), parse(sys.argv[1:]))
    sys.exit(0 if is_complete else 1)
