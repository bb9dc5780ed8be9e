"""Checkpoints under fire: kills, power cuts, failing calls, with each way of saving and with the plain Trainer's.

`make crash-test` lets them befall life after life of a training (stallfree's tests/crash/fires.py) and compares each
life with the training that nothing befell: what it goes on from must be whole, on the true path, and not older than
what was acknowledged. Then it takes the flushes away, one kind at a time, to see that it would notice.
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
from crash.fires import Progress, faults, kills, power_cuts
from crash.flushes import none_of_files, none_of_folders
from crash.judge import Tally
from crash.life import Way, true_path
from crash.power import NoLoopDisk, loop_disk
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from stallfree.saving.overlapped import OverlappedSaver
from stallfree.saving.saver import PlainSaver

from benchmarks.figures import Figure, write

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
            # It takes long, and whoever ends it has what was seen by then.
            minutes = f"{(time.monotonic() - began) / 60:.0f}"
            write(
                "crash", list(_figures(rows)), {"part": f"{part:g}", "minutes": minutes, "last": f"{row[0]}: {row[1]}"}
            )
    _show(console, rows)


def _rows(console: Console, home: Path, part: float) -> Iterator[Row]:
    chance = random.Random(_SEED)
    path = true_path(home / "true", _STEPS)
    for way, times in [*((way, _KILLS) for way in OURS), (TRAINER, _OF_THE_TRAINER)]:
        tell = _told(console, f"SIGKILL: {way.name}")
        yield "SIGKILL", way.name, kills(way, home, path, math.ceil(times * part), chance, tell)
    for way in [*OURS, TRAINER]:
        tell = _told(console, f"faults: {way.name}")
        yield "I/O error, disk full", way.name, faults(way, home, path, tell, stride=round(1 / part))
    try:
        with loop_disk() as disk:
            for way, times in _ways_of_losing_power():
                tell = _told(console, f"power cut: {way.name}")
                yield "power cut", way.name, power_cuts(way, disk, path, math.ceil(times * part), chance, tell)
    except NoLoopDisk as reason:
        console.print(f"[yellow]No power was cut: it takes root and loop devices ({reason}).[/]")


def _ways_of_losing_power() -> Iterator[tuple[Way, int]]:
    yield from ((way, _POWER_CUTS) for way in OURS)
    yield TRAINER, _OF_THE_TRAINER
    for way in OURS:
        for without, cripple in (("files", none_of_files), ("folders", none_of_folders)):
            yield replace(way, name=f"{way.name}, no {without} flushed", cripple=cripple), _OF_THE_CRIPPLED


def _told(console: Console, name: str) -> Progress:
    """A line for each tenth that is done. No line that moves: its thread would be forked in the middle of anything."""
    last = 0

    def tell(done: int, of: int) -> None:
        nonlocal last
        if done * 10 // of > last:
            last = done * 10 // of
            console.print(f"[dim]{name}: {done} of {of}[/]")

    return tell


def _show(console: Console, rows: list[Row]) -> None:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    # In 80 columns the names are what must be read.
    table.add_column("fire and way", min_width=26)
    for heading in ("times", "saving", "died", "astray", "lost", "passed", "silent"):
        table.add_column(heading, justify="right")
    for fire, way, tally in rows:
        counts = (tally.fires, tally.in_a_save, tally.refused, tally.astray, tally.lost, tally.passed_over)
        table.add_row(f"{fire}: {way}", *map(str, counts), str(tally.unnoticed))
    console.print(table)
    console.print(
        "[dim]saving: a save was under way. died, astray: the next life did not get to a step, or not to a true one."
        " lost: it went on from an older step than one acknowledged. passed: not whole, and not taken."
        " silent: nobody was told.[/]"
    )


def _figures(rows: list[Row]) -> Iterator[Figure]:
    ours = {way.name for way in OURS}
    for fire, way, tally in rows:
        name = f"{fire}: {way}"
        yield Figure(name, tally.fires, "times")
        yield Figure(f"{name}: while a save was under way", tally.in_a_save, "times")
        for what, count in (
            ("corrupt after resume", tally.corrupt),
            ("acknowledged and lost", tally.lost),
            ("failed and kept quiet", tally.unnoticed),
        ):
            bar, holds = ("none", count == 0) if way in ours else ("", None)
            yield Figure(f"{name}: {what}", count, "times", bar, holds)


if __name__ == "__main__":
    options = argparse.ArgumentParser(prog="make crash-test OPTIONS=", description=__doc__)
    options.add_argument("--part", type=float, default=1.0, help="how much of it: 0.1 for a tenth of the fires")
    chosen = options.parse_args()
    if not 0 < chosen.part <= 1:
        options.error("--part: more than 0, and at most 1")
    crash(Console(), part=chosen.part)
