"""Each training in a process of its own, so that none finds memory that another one left; its figures come back."""

import ctypes
import json
import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tools.benchmarks.checkpoint.training import Training, train
from tools.figures import FOLDER

# Two of these at a time would make each other's figures worthless, but not fail.
SCRATCH = FOLDER.parent / "checkpoint" / str(os.getpid())
_REPOSITORY = Path(__file__).parents[3]
_MOST_SECONDS = {"sleeping": 600.0, "busy": 600.0, "cuda": 3600.0}
_PR_SET_PDEATHSIG = 1
_TORCHRUN = (sys.executable, "-m", "torch.distributed.run", "--standalone")
_FAULT_OF_ONE = re.compile(r"\[rank\d+\]: [\w.]+(Error|Exception|Failed)\b")
_TRAINING = ("-m", "tools.benchmarks.checkpoint.training")


class Failed(Exception):
    """A training to be measured ended badly; the message is the end of what it said."""


def run(training: Training, processes: int = 1) -> dict[str, Any]:
    folder = Path(training.folder)
    folder.mkdir(parents=True)
    try:
        if processes == 1:
            _in_one_process(training)
        else:
            _in_several(training, processes)
        figures: dict[str, Any] = json.loads(folder.with_suffix(".json").read_text())
        return figures
    finally:
        shutil.rmtree(folder)
        # What it left to be written must not slow the next one down.
        os.sync()


def _in_one_process(training: Training) -> None:
    context: Any = multiprocessing.get_context(_start_method(training))
    child = context.Process(target=_child, args=(training,))
    child.start()
    child.join(_MOST_SECONDS[training.how])
    if child.exitcode is None:
        os.killpg(child.pid, signal.SIGKILL)
        child.join()
    _judge(training, child.exitcode)


def _start_method(training: Training) -> str:
    """Forked, it need not import PyTorch again. Forked, it could not use CUDA."""
    return "spawn" if training.how == "cuda" else "fork"


def _child(training: Training) -> None:
    # A group of its own: what it starts ends with it. And it ends with us, also when we are killed.
    os.setsid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    os.environ["CUDA_VISIBLE_DEVICES"] = _visible_gpu(training)
    with _log_of(training).open("w") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
        figures = train(training)
    Path(training.folder).with_suffix(".json").write_text(json.dumps(figures))


def _in_several(training: Training, processes: int) -> None:
    with _log_of(training).open("w") as log:
        child = subprocess.Popen(
            [*_TORCHRUN, f"--nproc-per-node={processes}", *_TRAINING, json.dumps(asdict(training))],
            cwd=_REPOSITORY,
            env={**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": _visible_gpu(training)},
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            exitcode = child.wait(_MOST_SECONDS[training.how])
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            exitcode = child.wait()
    _judge(training, exitcode)


def _visible_gpu(training: Training) -> str:
    """One where one is meant, for the Trainer would use them all; else none, for saves would ask for its state."""
    return os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0] if training.how == "cuda" else ""


def _log_of(training: Training) -> Path:
    return Path(training.folder).with_suffix(".log")


def _judge(training: Training, exitcode: int) -> None:
    if exitcode:
        said = [line for line in _log_of(training).read_text(errors="replace").splitlines() if line.strip()]
        # Of several processes the first one that failed: the others only say that it is gone.
        reasons = [*filter(_FAULT_OF_ONE.match, said)][:1] or said[-1:] or [f"ended with {exitcode}"]
        raise Failed(reasons[0])


def folder_for(name: str) -> str:
    return str(SCRATCH / f"{name}-{time.monotonic_ns()}")
