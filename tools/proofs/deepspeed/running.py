"""One training as torchrun starts it: to its end, or killed in the middle of a save."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from stallfree.checkpoint import manifest
from stallfree.checkpoint.search import newest_first

from tools.proofs.deepspeed.training import SAVE_EVERY, STEPS

KILLED_AT = STEPS - SAVE_EVERY
_MOST_SECONDS = 600.0
"""The first training compiles how DeepSpeed's processes talk to each other."""
_COPY_SECONDS, _WRITE_SECONDS = 0.02, 0.05
"""Less than a save of this size takes to be copied, and then to be written."""


class Failed(Exception):
    """A training that nothing befell ended badly; the message is the end of what it said."""


def train(folder: Path, stage: int, *options: str, processes: int = 2) -> None:
    with _training(folder, stage, options, processes) as training:
        if training.wait(_MOST_SECONDS):
            raise Failed(_last_words(folder))


def kill_in_a_save(folder: Path, stage: int, *, writing: bool, chance: random.Random) -> bool:
    """While it is copied, or while its files are written; whether that is where the kill struck."""
    staged = folder / ".staging" / f"checkpoint-{KILLED_AT}"
    latest = time.monotonic() + _MOST_SECONDS
    with _training(folder, stage, (), 2) as training:
        while not (staged.exists() if writing else f"Saving(step={KILLED_AT})" in said_of(folder)):
            if training.poll() is not None or time.monotonic() > latest:
                raise Failed(_last_words(folder))
            time.sleep(0.001)
        time.sleep(chance.uniform(0, _WRITE_SECONDS if writing else _COPY_SECONDS))
    return staged.exists() if writing else not (staged.exists() or (folder / staged.name).exists())


def end_of(folder: Path) -> tuple[Any, ...]:
    """The bits of the weights, and every loss on the way."""
    last = newest_first(folder)[0][1]
    weights = next(file.crc64nvme for file in manifest.verify(last).files if file.path == "model.safetensors")
    return last.name, weights, *losses_of(folder).items()


def losses_of(folder: Path) -> dict[int, float]:
    last = newest_first(folder)[0][1]
    history = json.loads((last / "trainer_state.json").read_text())["log_history"]
    return {line["step"]: line["loss"] for line in history if "loss" in line}


def said_of(folder: Path) -> str:
    return _log_of(folder).read_text()


def reported_by(folder: Path, pattern: str) -> list[str]:
    return re.findall(pattern, said_of(folder))


@contextmanager
def _training(folder: Path, stage: int, options: tuple[str, ...], processes: int) -> Iterator[subprocess.Popen[bytes]]:
    """What is left of it at the end is killed."""
    folder.mkdir(parents=True, exist_ok=True)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    script = ["-m", "tools.proofs.deepspeed.training", str(folder), f"--stage={stage}", *options]
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
    return "\n".join(said_of(folder).splitlines()[-30:])
