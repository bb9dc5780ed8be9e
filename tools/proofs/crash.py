"""Kills, power cuts and failing system calls during saves, with each way of saving and with the plain Trainer's.

`make crash-test` injects them into one process of a training after another (stallfree's tests/crash/campaigns.py), and
compares each with the uninterrupted training: it must resume from a whole checkpoint, in a true state, and not from an
older step than was acknowledged. Then it disables the flushes, one kind at a time, to see that this is noticed.
"""

import argparse
import math
import random
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import torch
from crash.campaigns import Progress, faults, kills, power_cuts
from crash.checker import Tally
from crash.flushes import none_of_files, none_of_folders
from crash.power import NoLoopDisk, loop_disk
from crash.training_process import Way, reference
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from stallfree.saving.overlapped import OverlappedSaver
from stallfree.saving.saver import PlainSaver

from tools.figures import Figure, write

_KILLS, _POWER_CUTS, _OF_THE_TRAINER, _OF_THE_CRIPPLED = 500, 100, 50, 25
_STEPS = 40
_SEED = 7

OURS = [Way("stallfree, plain", PlainSaver), Way("stallfree, overlapped", OverlappedSaver)]
TRAINER = Way("Trainer")

Row = tuple[str, str, Tally]


def crash(console: Console, *, part: float = 1.0) -> None:
    began = time.monotonic()
    torch.set_num_threads(1)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="crash-") as name:
        for row in _rows(console, Path(name), part):
            rows.append(row)
            # It takes long; if it is stopped, the figures so far are there.
            minutes = f"{(time.monotonic() - began) / 60:.0f}"
            write(
                "crash", list(_figures(rows)), {"part": f"{part:g}", "minutes": minutes, "last": f"{row[0]}: {row[1]}"}
            )
    _show(console, rows)


def _rows(console: Console, home: Path, part: float) -> Iterator[Row]:
    chance = random.Random(_SEED)
    path = reference(home / "true", _STEPS)
    for way, times in [*((way, _KILLS) for way in OURS), (TRAINER, _OF_THE_TRAINER)]:
        report = _progress_of(console, f"SIGKILL: {way.name}")
        yield "SIGKILL", way.name, kills(way, home, path, math.ceil(times * part), chance, report)
    for way in [*OURS, TRAINER]:
        report = _progress_of(console, f"faults: {way.name}")
        yield "I/O error, disk full", way.name, faults(way, home, path, report, stride=round(1 / part))
    try:
        with loop_disk() as disk:
            for way, times in _ways_of_losing_power():
                report = _progress_of(console, f"power cut: {way.name}")
                yield "power cut", way.name, power_cuts(way, disk, path, math.ceil(times * part), chance, report)
    except NoLoopDisk as reason:
        console.print(f"[yellow]No power was cut: that takes root and loop devices ({reason}).[/]")


def _ways_of_losing_power() -> Iterator[tuple[Way, int]]:
    yield from ((way, _POWER_CUTS) for way in OURS)
    yield TRAINER, _OF_THE_TRAINER
    for way in OURS:
        for without, cripple in (("files", none_of_files), ("folders", none_of_folders)):
            yield replace(way, name=f"{way.name}, no {without} flushed", cripple=cripple), _OF_THE_CRIPPLED


def _progress_of(console: Console, name: str) -> Progress:
    """A line for each tenth that is done. No line that moves: its thread would be forked in the middle of anything."""
    last = 0

    def report(done: int, of: int) -> None:
        nonlocal last
        if done * 10 // of > last:
            last = done * 10 // of
            console.print(f"[dim]{name}: {done} of {of}[/]")

    return report


def _show(console: Console, rows: list[Row]) -> None:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    # In 80 columns the names are what must be read.
    table.add_column("fault and way", min_width=26)
    for heading in ("times", "saving", "died", "astray", "lost", "rejected", "silent"):
        table.add_column(heading, justify="right")
    for fault, way, tally in rows:
        counts = (
            tally.faults_injected,
            tally.during_a_save,
            tally.not_resumed,
            tally.wrong_state,
            tally.lost,
            tally.rejected,
        )
        table.add_row(f"{fault}: {way}", *map(str, counts), str(tally.silent))
    console.print(table)
    console.print(
        "[dim]saving: a save was under way. died, astray: the next process did not reach a step, or not a true one."
        " lost: it resumed from an older step than one acknowledged. rejected: not whole, and not used."
        " silent: no error was reported.[/]"
    )


def _figures(rows: list[Row]) -> Iterator[Figure]:
    ours = {way.name for way in OURS}
    for fault, way, tally in rows:
        name = f"{fault}: {way}"
        yield Figure(name, tally.faults_injected, "times")
        yield Figure(f"{name}: while a save was under way", tally.during_a_save, "times")
        for what, count in (
            ("corrupt after resume", tally.corrupt),
            ("acknowledged and lost", tally.lost),
            ("failed and kept quiet", tally.silent),
        ):
            bar, holds = ("none", count == 0) if way in ours else ("", None)
            yield Figure(f"{name}: {what}", count, "times", bar, holds)


if __name__ == "__main__":
    options = argparse.ArgumentParser(prog="make crash-test OPTIONS=", description=__doc__)
    options.add_argument("--part", type=float, default=1.0, help="how much of it: 0.1 for a tenth of the faults")
    chosen = options.parse_args()
    if not 0 < chosen.part <= 1:
        options.error("--part: more than 0, and at most 1")
    crash(Console(), part=chosen.part)
