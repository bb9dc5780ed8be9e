"""Campaigns: a fault is injected into one process of a training after another, and a checker reads their output."""

import errno
import os
import random
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from crash.checker import Checker, Tally
from crash.faults import Counting, Failing, Fault, run_under
from crash.power import LoopDisk
from crash.training_process import TrainingProcess, Way

Progress = Callable[[int, int], None]
_WRITES, _CALLS = ("write",), ("write", "fsync", "rename")
_SAVES_UNDER_FAULTS = 2
_LATEST_HALT = 4


def kills(way: Way, home: Path, path: Mapping[int, int], times: int, chance: random.Random, report: Progress) -> Tally:
    """SIGKILL at a random moment of a save, one process after another in one folder."""
    tally, folder = Tally(), home / "out"
    checker = Checker(folder, path, tally)
    patience = _patience_seconds(way, folder, len(path) - 1)
    checker.start_anew()
    while tally.faults_injected < times:
        process = TrainingProcess(way, folder, len(path) - 1)
        process.begin()
        if process.wait_for("at"):
            time.sleep(chance.uniform(0, patience))
            tally.faults_injected += 1
        process.kill()
        process.end()
        checker.read(process)
        report(tally.faults_injected, times)
    _last_process(way, folder, len(path) - 1, checker)
    return tally


def power_cuts(
    way: Way, disk: LoopDisk, path: Mapping[int, int], times: int, chance: random.Random, report: Progress
) -> Tally:
    """The disk's power is cut, and the training dies with it: at a random moment of a save, then at the very instant in
    which one is acknowledged, and so on in turns."""
    tally, folder = Tally(), disk.folder / "out"
    checker = Checker(folder, path, tally)
    patience = _patience_seconds(way, folder, len(path) - 1)
    checker.start_anew()
    while tally.faults_injected < times:
        halt_at_save = chance.randint(1, _LATEST_HALT) if tally.faults_injected % 2 else None
        process = TrainingProcess(way, folder, len(path) - 1, halt_at_save=halt_at_save)
        process.begin()
        if halt_at_save is not None:
            tally.faults_injected += process.wait_until_it_halts()
        elif process.wait_for("at"):
            time.sleep(chance.uniform(0, patience))
            tally.faults_injected += 1
        disk.cut_power()
        process.kill()
        process.end()
        disk.unmount()
        disk.mount()
        checker.read(process)
        report(tally.faults_injected, times)
    _last_process(way, folder, len(path) - 1, checker)
    return tally


def faults(way: Way, home: Path, path: Mapping[int, int], report: Progress, stride: int = 1) -> Tally:
    """Two saves for each write, fsync and rename in them: an I/O error at that call, or a disk full from then on."""
    tally, folder = Tally(), home / "out"
    checker = Checker(folder, path, tally)
    counts = {}
    for names in (_CALLS, _WRITES):
        counting = Counting(names)
        _process_under(counting, way, folder)
        checker.start_anew()
        counts[names] = counting.counted
    plans: list[Failing] = [Failing(_CALLS, at, errno.EIO) for at in range(0, counts[_CALLS], stride)]
    plans += [Failing(_WRITES, at, errno.ENOSPC, for_good=True) for at in range(0, counts[_WRITES], stride)]
    for fault in plans:
        process, code = _process_under(fault, way, folder)
        tally.faults_injected += fault.which < 0
        tally.silent += fault.which < 0 and code == 0
        not_resumed = tally.not_resumed
        checker.read(process)
        tally.not_resumed = not_resumed  # The process with the fault may end before its first step.
        _last_process(way, folder, _SAVES_UNDER_FAULTS, checker)
        checker.start_anew()
        report(tally.faults_injected, len(plans))
    return tally


def _process_under(fault: Fault, way: Way, folder: Path) -> tuple[TrainingProcess, int]:
    process = TrainingProcess(way, folder, _SAVES_UNDER_FAULTS)
    status = run_under(fault, process.work, folder=folder)
    process.has_begun()
    return process, os.waitstatus_to_exitcode(status)


def _last_process(way: Way, folder: Path, steps: int, checker: Checker) -> None:
    """Without a fault: to see what it resumes from."""
    process = TrainingProcess(way, folder, steps)
    process.begin()
    process.end()
    checker.read(process)


def _patience_seconds(way: Way, folder: Path, steps: int) -> float:
    """Somewhat more than a step with its save takes here."""
    shutil.rmtree(folder, ignore_errors=True)
    process = TrainingProcess(way, folder, steps)
    process.begin()
    process.wait_for("began")
    began = time.perf_counter()
    process.end()
    list(process.lines())
    return 1.5 * (time.perf_counter() - began) / steps
