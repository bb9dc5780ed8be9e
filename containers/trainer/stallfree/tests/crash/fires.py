"""The fires: each befalls life after life of one training, and a judge hears what they tell."""

import errno
import os
import random
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from crash.faults import Counting, Failing, Fault, run_under
from crash.judge import Judge, Tally
from crash.life import Life, Way
from crash.power import LoopDisk

Progress = Callable[[int, int], None]
_WRITES, _CALLS = ("write",), ("write", "fsync", "rename")
_SAVES_UNDER_FAULTS = 2
_LATEST_HALT = 4


def kills(way: Way, home: Path, path: Mapping[int, int], times: int, chance: random.Random, tell: Progress) -> Tally:
    """SIGKILL at a random moment of a save, life after life in one folder."""
    tally, folder = Tally(), home / "out"
    judge = Judge(folder, path, tally)
    patience = _patience_seconds(way, folder, len(path) - 1)
    judge.start_anew()
    while tally.fires < times:
        life = Life(way, folder, len(path) - 1)
        life.begin()
        if life.wait_for("at"):
            time.sleep(chance.uniform(0, patience))
            tally.fires += 1
        life.kill()
        life.end()
        judge.hear(life)
        tell(tally.fires, times)
    _last_life(way, folder, len(path) - 1, judge)
    return tally


def power_cuts(
    way: Way, disk: LoopDisk, path: Mapping[int, int], times: int, chance: random.Random, tell: Progress
) -> Tally:
    """The disk's power is cut, and the training dies with it: at a random moment of a save, then at the very instant in
    which one is acknowledged, and so on in turns."""
    tally, folder = Tally(), disk.folder / "out"
    judge = Judge(folder, path, tally)
    patience = _patience_seconds(way, folder, len(path) - 1)
    judge.start_anew()
    while tally.fires < times:
        halt_at_save = chance.randint(1, _LATEST_HALT) if tally.fires % 2 else None
        life = Life(way, folder, len(path) - 1, halt_at_save=halt_at_save)
        life.begin()
        if halt_at_save is not None:
            tally.fires += life.wait_until_it_halts()
        elif life.wait_for("at"):
            time.sleep(chance.uniform(0, patience))
            tally.fires += 1
        disk.cut_power()
        life.kill()
        life.end()
        disk.unmount()
        disk.mount()
        judge.hear(life)
        tell(tally.fires, times)
    _last_life(way, folder, len(path) - 1, judge)
    return tally


def faults(way: Way, home: Path, path: Mapping[int, int], tell: Progress, stride: int = 1) -> Tally:
    """Two saves for each write, fsync and rename in them: an I/O error at that call, or a disk full from then on."""
    tally, folder = Tally(), home / "out"
    judge = Judge(folder, path, tally)
    counts = {}
    for names in (_CALLS, _WRITES):
        counting = Counting(names)
        _live_under(counting, way, folder)
        judge.start_anew()
        counts[names] = counting.counted
    plans: list[Failing] = [Failing(_CALLS, at, errno.EIO) for at in range(0, counts[_CALLS], stride)]
    plans += [Failing(_WRITES, at, errno.ENOSPC, for_good=True) for at in range(0, counts[_WRITES], stride)]
    for fault in plans:
        life, code = _live_under(fault, way, folder)
        tally.fires += fault.which < 0
        tally.unnoticed += fault.which < 0 and code == 0
        refused = tally.refused
        judge.hear(life)
        tally.refused = refused  # The life that the fault befell may end before it begins.
        _last_life(way, folder, _SAVES_UNDER_FAULTS, judge)
        judge.start_anew()
        tell(tally.fires, len(plans))
    return tally


def _live_under(fault: Fault, way: Way, folder: Path) -> tuple[Life, int]:
    life = Life(way, folder, _SAVES_UNDER_FAULTS)
    status = run_under(fault, life.work, folder=folder)
    life.has_begun()
    return life, os.waitstatus_to_exitcode(status)


def _last_life(way: Way, folder: Path, steps: int, judge: Judge) -> None:
    """Nothing befalls it: it is there to show what it goes on from."""
    life = Life(way, folder, steps)
    life.begin()
    life.end()
    judge.hear(life)


def _patience_seconds(way: Way, folder: Path, steps: int) -> float:
    """Somewhat more than a step with its save takes here."""
    shutil.rmtree(folder, ignore_errors=True)
    life = Life(way, folder, steps)
    life.begin()
    life.wait_for("began")
    began = time.perf_counter()
    life.end()
    list(life.told())
    return 1.5 * (time.perf_counter() - began) / steps
