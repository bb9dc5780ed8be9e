"""The tree of processes below this one."""

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Iterable
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
_LOOK_EVERY_SECONDS = 0.02


def adopt_orphans() -> None:
    """Workers outlive a killed launcher; they become ours then, as they would be in a container of their own."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def descendants(of: int | None = None) -> list[int]:
    """All processes below one (or below this one), the ones nearest to it first."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):  # it ended while we looked
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    found: list[int] = []
    generation = [of or os.getpid()]
    while generation:
        generation = [child for parent in generation for child in children.get(parent, [])]
        found += generation
    return found


def end_descendants(*, within_seconds: float) -> list[int]:
    """Kill them all; which are still there after that time. Needs `adopt_orphans`.

    A process that waits for a file system in the kernel ends only when that answers.
    """
    until = time.monotonic() + within_seconds
    while below := descendants():
        send(signal.SIGKILL, below)
        _reap()
        if time.monotonic() >= until:
            break
        time.sleep(_LOOK_EVERY_SECONDS)
    return below


def send(number: signal.Signals, processes: Iterable[int]) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError):  # gone already, which is what the signal is for
            os.kill(process, number)


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):  # there is none
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass
