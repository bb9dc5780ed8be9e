"""Checkpoints under fire: kills, power cuts, failing calls, with each way of saving and with the plain Trainer's.

`make crash-test` lets them befall life after life of a training (stallfree's tests/crash/fires.py) and compares each
life with the training that nothing befell: what it goes on from must be whole, on the true path, and not older than
what was acknowledged. Then it takes the flushes away, one kind at a time, to see that it would notice.
"""

import random
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import torch
from crash.fires import Progress, faults, kills, power_cuts
from crash.flushes import none_of_files, none_of_folders
from crash.judge import Tally
from crash.life import Way, true_path
from crash.power import NoLoopDisk, loop_disk
from rich.console import Console
from rich.table import Table
from stallfree.saving.overlapped import OverlappedSaver
from stallfree.saving.saver import PlainSaver

from benchmarks.figures import Figure, publish

_KILLS, _POWER_CUTS, _OF_THE_TRAINER, _OF_THE_CRIPPLED = 500, 100, 50, 25
_STEPS = 40
_SEED = 7

OURS = [Way("stallfree, plain", PlainSaver), Way("stallfree, overlapped", OverlappedSaver)]
TRAINER = Way("Trainer")

Row = tuple[str, str, Tally]


def crash(console: Console) -> None:
    torch.set_num_threads(1)
    chance = random.Random(_SEED)
    with tempfile.TemporaryDirectory(prefix="crash-") as name:
        home = Path(name)
        path = true_path(home / "true", _STEPS)
        rows: list[Row] = []
        for way, times in [*((way, _KILLS) for way in OURS), (TRAINER, _OF_THE_TRAINER)]:
            rows.append(
                ("SIGKILL", way.name, kills(way, home, path, times, chance, _told(console, f"SIGKILL: {way.name}")))
            )
        rows += _power_cuts(console, path, chance)
        for way in [*OURS, TRAINER]:
            rows.append(
                ("I/O error, disk full", way.name, faults(way, home, path, _told(console, f"faults: {way.name}")))
            )
    _show(console, rows)
    publish(console, "crash", list(_figures(rows)))


def _power_cuts(console: Console, path: dict[int, int], chance: random.Random) -> list[Row]:
    fires = [(way, _POWER_CUTS) for way in OURS]
    fires += [(TRAINER, _OF_THE_TRAINER)]
    for way in OURS:
        for without, cripple in (("files", none_of_files), ("folders", none_of_folders)):
            name = f"{way.name}, no {without} flushed"
            fires.append((replace(way, name=name, cripple=cripple), _OF_THE_CRIPPLED))
    try:
        with loop_disk() as disk:
            return [
                (
                    "power cut",
                    way.name,
                    power_cuts(way, disk, path, times, chance, _told(console, f"power cut: {way.name}")),
                )
                for way, times in fires
            ]
    except NoLoopDisk as reason:
        console.print(f"[yellow]No power was cut: it takes root and loop devices ({reason}).[/]")
        return []


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
    table = Table("fire", "saved by", "times", "in a save", "dies of it", "astray", "acknowledged, lost", "passed over")
    table.add_column("unnoticed")
    for fire, way, tally in rows:
        counts = (tally.fires, tally.in_a_save, tally.refused, tally.astray, tally.lost, tally.passed_over)
        table.add_row(fire, way, *map(str, counts), str(tally.unnoticed))
    console.print(table)


def _figures(rows: list[Row]) -> Iterator[Figure]:
    ours = {way.name for way in OURS}
    for fire, way, tally in rows:
        name = f"{fire}: {way}"
        yield Figure(name, tally.fires, "times")
        for what, count in (("corrupt after resume", tally.corrupt), ("acknowledged and lost", tally.lost)):
            if way in ours:
                yield Figure(f"{name}: {what}", count, "times", "none", count == 0)
            else:
                yield Figure(f"{name}: {what}", count, "times")


if __name__ == "__main__":
    crash(Console())
