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
    expected = _end_of(_trained(scratch / "quiet", stage))
    corrupt = other_end = 0
    for number in range(_KILLS):
        console.print(f"ZeRO {stage}: killed in a save, and resumed, {number + 1} of {_KILLS} ...")
        folder = scratch / f"killed-{number}"
        _kill_in_a_save(folder, stage, after_seconds=chance.uniform(0, 0.05))
        corrupt += len(newest_whole(folder).passed_over)
        other_end += _end_of(_trained(folder, stage, resume=True)) != expected
    console.print(f"ZeRO {stage}: the newest checkpoint damaged ...")
    damaged = scratch / "quiet"
    shutil.rmtree(damaged / f"checkpoint-{STEPS}")
    _damage(damaged / f"checkpoint-{STEPS - SAVE_EVERY}", chance)
    end = _end_of(_trained(damaged, stage, resume=True))
    return [
        Figure(f"ZeRO {stage}: kills in a save", _KILLS, "kills", "some", _KILLS > 0),
        Figure(f"ZeRO {stage}: not whole after a kill", corrupt, "checkpoints", "none", not corrupt),
        Figure(f"ZeRO {stage}: another end after a resume", other_end, "trainings", "none", not other_end),
        Figure(f"ZeRO {stage}: another end after damage", int(end != expected), "trainings", "none", end == expected),
    ]


def _trained(folder: Path, stage: int, *, resume: bool = False) -> Path:
    training, log = _begin(folder, stage, resume=resume)
    if training.wait(_MOST_SECONDS):
        raise Failed("\n".join(log.read_text().splitlines()[-30:]))
    return folder


def _begin(folder: Path, stage: int, *, resume: bool) -> tuple[subprocess.Popen[bytes], Path]:
    folder.mkdir(parents=True, exist_ok=True)
    log = folder.with_suffix(".log")
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    script = ["-m", "benchmarks.deepspeed.training", str(folder), f"--stage={stage}", *(["--resume"] if resume else [])]
    with log.open("wb") as said:
        # A session of its own, so that all of it can be killed at once.
        return subprocess.Popen(
            torchrun + script, stdout=said, stderr=subprocess.STDOUT, start_new_session=True, env=_environment()
        ), log


def _environment() -> dict[str, str]:
    return os.environ | {"DS_ACCELERATOR": "cpu", "OMP_NUM_THREADS": "1"}


def _kill_in_a_save(folder: Path, stage: int, *, after_seconds: float) -> None:
    training, log = _begin(folder, stage, resume=False)
    begun = folder / ".staging" / f"checkpoint-{STEPS - SAVE_EVERY}"
    while not begun.exists():
        if training.poll() is not None:
            raise Failed("\n".join(log.read_text().splitlines()[-30:]))
        time.sleep(0.001)
    time.sleep(after_seconds)
    for process in _family(training.pid):
        os.kill(process, signal.SIGKILL)
    training.wait()


def _family(first: int) -> list[int]:
    """torchrun gives each of its processes a session, so a signal to its group would miss them."""
    family = [first]
    for pid in family:
        for task in Path(f"/proc/{pid}/task").iterdir():
            family += [int(child) for child in (task / "children").read_text().split()]
    return family


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
