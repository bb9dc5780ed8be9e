"""Several processes of one training, forked as torchrun would start them, without its seconds of start."""

import logging
import os
import pickle
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from accelerate.state import AcceleratorState, GradientState


@dataclass(frozen=True)
class Ended:
    """How one process ended: its exit code (or minus the signal that killed it), and what its work answered."""

    code: int
    answer: Any = None


class Hung(AssertionError):
    """Some processes wait for each other and will never end."""


def in_processes(count: int, folder: Path, work: Callable[[int], Any], *, limit_seconds: float = 180) -> list[Ended]:
    """Run the work once in each of so many processes, with its number. An exception is exit code 1, and printed."""
    port = _free_port()
    answers = [folder / f"answer-{number}" for number in range(count)]
    pids = [_fork(number, count, port, work, answers[number]) for number in range(count)]
    codes = _wait(pids, limit_seconds)
    return [
        Ended(code, pickle.loads(answer.read_bytes()) if answer.exists() else None)
        for code, answer in zip(codes, answers, strict=True)
    ]


def _fork(number: int, count: int, port: int, work: Callable[[int], Any], answer: Path) -> int:
    answer.unlink(missing_ok=True)
    if pid := os.fork():
        return pid
    code = 1
    try:
        os.environ |= {"RANK": str(number), "LOCAL_RANK": str(number), "WORLD_SIZE": str(count)}
        os.environ |= {"LOCAL_WORLD_SIZE": str(count), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        logging.getLogger().addHandler(logging.StreamHandler())
        # What the parent's own trainings left behind speaks of one process.
        AcceleratorState._reset_state(reset_partial_state=True)
        GradientState._reset_state()
        answer.write_bytes(pickle.dumps(work(number)))
        code = 0
    except SystemExit as left:
        code = int(left.code or 0)
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _wait(pids: list[int], limit_seconds: float) -> list[int]:
    codes: dict[int, int] = {}
    deadline = time.monotonic() + limit_seconds
    while len(codes) < len(pids):
        for pid in set(pids) - codes.keys():
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                codes[pid] = os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline:
            left = set(pids) - codes.keys()
            for pid in left:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            raise Hung(f"After {limit_seconds} s these have not ended: {[pids.index(pid) for pid in left]}")
        time.sleep(0.01)
    return [codes[pid] for pid in pids]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
