"""What a Trainer is doing, in a small file on the local disk: its process writes it, the supervisor reads it.

A file for each process, named by its number, of one line: the phase, the last step, and whether the process writes its
stacks on SIGUSR2. Each write changes the file's time, also where the line stays the same.
"""

import contextlib
import os
from pathlib import Path
from typing import Literal, NamedTuple

Phase = Literal["begin", "resume", "step", "save", "ended"]
"""Before the first step, or that of a resume, which may have to pass over data; between steps; in a save; after the
end."""


class Pace(NamedTuple):
    phase: Phase
    step: int
    dumps: bool
    changed_ns: int


class PaceFile:
    """Written at each step, so it costs microseconds, and no error of it ends a training."""

    def __init__(self, path: Path, *, dumps: bool) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        self._dumps = dumps

    def write(self, phase: Phase, step: int) -> None:
        with contextlib.suppress(OSError):
            os.pwrite(self._file, f"{phase:<8}{step:>16}{self._dumps:>2}\n".encode(), 0)


def read(path: Path) -> Pace | None:
    """None: it is no such file, or its writer has only just begun."""
    try:
        phase, step, dumps = path.read_text().split()
        return Pace(phase, int(step), dumps == "1", path.stat().st_mtime_ns)  # type: ignore[arg-type]
    except (OSError, ValueError):
        return None
