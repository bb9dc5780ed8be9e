"""`make deepspeed`: does a training sharded by the real DeepSpeed end the same, whatever befell it on the way?"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from stallfree.checkpoint import manifest
from stallfree.checkpoint.reading import newest_first, newest_whole

from benchmarks.deepspeed.training import SAVE_EVERY, STEPS
from benchmarks.figures import Figure, publish

_STAGES = (2, 3)
_KILLS = 3
_MOST_SECONDS = 600.0
"""The first training compiles how DeepSpeed's processes talk to each other."""
_SEED = 7


class Failed(Exception):
    """A training that nothing befell ended badly; the message is the end of what it said."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="make deepspeed")
    parser.add_argument("--stages", type=int, nargs="+", choices=_STAGES, default=_STAGES, help="of ZeRO")
    chosen = parser.parse_args()
    console, chance = Console(), random.Random(_SEED)
    figures = []
    with tempfile.TemporaryDirectory(prefix="belay-deepspeed-") as scratch:
        for stage in chosen.stages:
            figures += _of_stage(stage, Path(scratch) / f"zero-{stage}", chance, console)
    about = {name: version(name) for name in ("deepspeed", "transformers", "torch")}
    publish(console, "deepspeed", figures, about)
    sys.exit(not all(one.holds for one in figures))


def _of_stage(stage: int, scratch: Path, chance: random.Random, console: Console) -> list[Figure]:
    console.print(f"ZeRO {stage}: a training that nothing befalls (the first of all compiles for some minutes) ...")
    quiet = scratch / "quiet"
    _train(quiet, stage)
    expected = _end_of(quiet)
    killed = [scratch / f"killed-{number}" for number in range(_KILLS)]
    corrupt = 0
    for folder in killed:
        console.print(f"ZeRO {stage}: killed in a save: {folder.name} ...")
        _kill_in_a_save(folder, stage, after_seconds=chance.uniform(0, 0.05))
        corrupt += len(newest_whole(folder).passed_over)
    shutil.rmtree(quiet / f"checkpoint-{STEPS}")
    _damage(quiet / f"checkpoint-{STEPS - SAVE_EVERY}", chance)
    anew = other_end = 0
    for folder in (*killed, quiet):
        console.print(f"ZeRO {stage}: resumed: {folder.name} ...")
        anew += not _goes_on_from_the_newest_whole(folder, stage)
        other_end += _end_of(folder) != expected
    return [
        Figure(f"ZeRO {stage}: not whole after {_KILLS} kills", corrupt, "checkpoints", "none", not corrupt),
        Figure(f"ZeRO {stage}: resumed not from the newest whole one", anew, "trainings", "none", not anew),
        Figure(f"ZeRO {stage}: another end, damaged one included", other_end, "trainings", "none", not other_end),
    ]


def _goes_on_from_the_newest_whole(folder: Path, stage: int) -> bool:
    newest = newest_whole(folder).found
    if newest is None:
        raise Failed(f"nothing in {folder.name} is whole")
    _train(folder, stage, resume=True)
    return f"Resumed(step={newest.step}, " in _log_of(folder).read_text()


def _train(folder: Path, stage: int, *, resume: bool = False) -> None:
    with _training(folder, stage, resume=resume) as training:
        if training.wait(_MOST_SECONDS):
            raise Failed(_last_words(folder))


def _kill_in_a_save(folder: Path, stage: int, *, after_seconds: float) -> None:
    begun = folder / ".staging" / f"checkpoint-{STEPS - SAVE_EVERY}"
    latest = time.monotonic() + _MOST_SECONDS
    with _training(folder, stage) as training:
        while not begun.exists():
            if training.poll() is not None or time.monotonic() > latest:
                raise Failed(_last_words(folder))
            time.sleep(0.001)
        time.sleep(after_seconds)


@contextmanager
def _training(folder: Path, stage: int, *, resume: bool = False) -> Iterator[subprocess.Popen[bytes]]:
    """What is left of it at the end is killed."""
    folder.mkdir(parents=True, exist_ok=True)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    script = ["-m", "benchmarks.deepspeed.training", str(folder), f"--stage={stage}", *(["--resume"] if resume else [])]
    environment = os.environ | {"DS_ACCELERATOR": "cpu", "OMP_NUM_THREADS": "1"}
    with _log_of(folder).open("wb") as said:
        training = subprocess.Popen(torchrun + script, stdout=said, stderr=subprocess.STDOUT, env=environment)
    try:
        yield training
    finally:
        for process in _family(training.pid):
            with suppress(OSError):
                os.kill(process, signal.SIGKILL)
        training.wait()


def _family(first: int) -> list[int]:
    """torchrun gives each of its processes a session, so a signal to its group would miss them."""
    family = [first]
    for pid in family:
        with suppress(OSError):
            for task in Path(f"/proc/{pid}/task").iterdir():
                family += [int(child) for child in (task / "children").read_text().split()]
    return family


def _log_of(folder: Path) -> Path:
    return folder.with_suffix(".log")


def _last_words(folder: Path) -> str:
    return "\n".join(_log_of(folder).read_text().splitlines()[-30:])


def _damage(checkpoint: Path, chance: random.Random) -> None:
    """One bit of one process's part of the optimizer."""
    file = chance.choice(sorted(checkpoint.glob("global_step*/*optim_states.pt")))
    content = bytearray(file.read_bytes())
    content[chance.randrange(len(content))] ^= 1
    file.write_bytes(content)


def _end_of(folder: Path) -> tuple[Any, ...]:
    """The bits of the weights, and every loss on the way."""
    last = newest_first(folder)[0][1]
    weights = next(file.crc64nvme for file in manifest.verify(last).files if file.path == "model.safetensors")
    history = json.loads((last / "trainer_state.json").read_text())["log_history"]
    return last.name, weights, *((line["step"], line["loss"]) for line in history if "loss" in line)


if __name__ == "__main__":
    main()
