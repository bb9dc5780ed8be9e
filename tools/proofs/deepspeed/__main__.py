"""`make deepspeed`: does a training sharded by the real DeepSpeed end the same, whatever befell it on the way?"""

import argparse
import random
import shutil
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from stallfree.checkpoint.search import newest_whole

from tools.figures import Figure, publish
from tools.proofs.deepspeed.blocked import blocked
from tools.proofs.deepspeed.counts import on_other_counts
from tools.proofs.deepspeed.running import KILLED_AT, Failed, end_of, kill_in_a_save, said_of, train
from tools.proofs.deepspeed.training import STEPS

_STAGES = (1, 2, 3)
_KILLS = 4
"""Half of them while a save is copied, half while it is written."""
_SEED = 7


def main() -> None:
    parser = argparse.ArgumentParser(prog="make deepspeed")
    parser.add_argument("--stages", type=int, nargs="+", choices=_STAGES, default=(2, 3), help="of ZeRO")
    chosen = parser.parse_args()
    console, chance = Console(), random.Random(_SEED)
    figures = []
    with tempfile.TemporaryDirectory(prefix="belay-deepspeed-") as name:
        for stage in chosen.stages:
            scratch = Path(name) / f"zero-{stage}"
            figures += _with_faults(stage, scratch, chance, console)
            figures += on_other_counts(stage, scratch, console)
            figures += blocked(stage, scratch, console)
            shutil.rmtree(scratch)
    about = {name: version(name) for name in ("deepspeed", "transformers", "torch")}
    publish(console, "deepspeed", figures, about)
    sys.exit(any(one.holds is False for one in figures))


def _with_faults(stage: int, scratch: Path, chance: random.Random, console: Console) -> list[Figure]:
    console.print(f"ZeRO {stage}: a training that nothing befalls (the first of all compiles for some minutes) ...")
    quiet = scratch / "quiet"
    train(quiet, stage)
    expected = end_of(quiet)
    killed = [scratch / f"killed-{number}" for number in range(_KILLS)]
    corrupt, struck = 0, {True: 0, False: 0}
    for number, folder in enumerate(killed):
        writing = number >= _KILLS // 2
        console.print(f"ZeRO {stage}: killed while a save is {'written' if writing else 'copied'}: {folder.name} ...")
        struck[writing] += kill_in_a_save(folder, stage, writing=writing, chance=chance)
        corrupt += len(newest_whole(folder).rejected)
    shutil.rmtree(quiet / f"checkpoint-{STEPS}")
    _damage(quiet / f"checkpoint-{KILLED_AT}", chance)
    anew = other_end = 0
    for folder in (*killed, quiet):
        console.print(f"ZeRO {stage}: resumed: {folder.name} ...")
        anew += not _goes_on_from_the_newest_whole(folder, stage)
        other_end += end_of(folder) != expected
    return [
        Figure(f"ZeRO {stage}: killed while a save was copied", struck[False], "times", "1 or more", struck[False] > 0),
        Figure(f"ZeRO {stage}: killed while a save was written", struck[True], "times", "1 or more", struck[True] > 0),
        Figure(f"ZeRO {stage}: not whole after {_KILLS} kills", corrupt, "checkpoints", "none", not corrupt),
        Figure(f"ZeRO {stage}: resumed not from the newest whole one", anew, "trainings", "none", not anew),
        Figure(f"ZeRO {stage}: another end, damaged one included", other_end, "trainings", "none", not other_end),
    ]


def _goes_on_from_the_newest_whole(folder: Path, stage: int) -> bool:
    newest = newest_whole(folder).found
    if newest is None:
        raise Failed(f"nothing in {folder.name} is whole")
    train(folder, stage, "--resume")
    return f"Resumed(step={newest.step}, " in said_of(folder)


def _damage(checkpoint: Path, chance: random.Random) -> None:
    """One bit of one process's part of the optimizer."""
    file = chance.choice(sorted(checkpoint.glob("global_step*/*optim_states.pt")))
    content = bytearray(file.read_bytes())
    content[chance.randrange(len(content))] ^= 1
    file.write_bytes(content)


if __name__ == "__main__":
    main()
