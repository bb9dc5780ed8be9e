"""Does training still make steps? Each Trainer in training says in a file on the local disk what it is doing.

A step may wait for data, be compiled, or be followed by an evaluation: a run is measured by its own longest one.
"""

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from _belay_hook import pace_file
from _belay_hook.pace_file import Phase

# An evaluation's metrics, or data that comes slowly, take longer than any step did.
_TIMES_THE_LONGEST = 20
_AT_LEAST_SECONDS = 30 * 60.0
_FIRST_STEP_SECONDS = 60 * 60.0
# A large save to a slow file system, or reading again all data that an earlier attempt has trained on, takes hours.
_SECONDS_OF: dict[Phase, float] = {"save": 6 * 3600.0, "resume": 6 * 3600.0}


class Hang(NamedTuple):
    silent_seconds: float
    dumping: list[int]
    """The processes that write the stacks of all their threads into the log on SIGUSR2."""


class _Seen(NamedTuple):
    changed_ns: int
    at: float
    phase: Phase


class Pace:
    """`limit_seconds`: the job's own limit, whatever training does; None: by what it does, and by its pace."""

    def __init__(
        self, trainers: Path, limit_seconds: float | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._trainers = trainers
        self._limit = limit_seconds
        # Not the clock of the files: an instance may set its clock while it trains.
        self._clock = clock
        self._seen: dict[int, _Seen] = {}
        self._longest: dict[int, float] = {}

    def in_training(self, processes: Iterable[int]) -> list[int]:
        return [one for one in processes if (pace := self._of(one)) and pace.phase != "ended"]

    def hang(self, processes: Iterable[int]) -> Hang | None:
        """Whether one of these living processes has made no step for longer than it may."""
        now, trainers = self._clock(), {one: pace for one in processes if (pace := self._of(one))}
        for process, pace in trainers.items():
            before = self._seen.get(process)
            if before is None or before.changed_ns != pace.changed_ns:
                if before and before.phase == "step":
                    self._longest[process] = max(now - before.at, self._longest.get(process, 0.0))
                self._seen[process] = _Seen(pace.changed_ns, now, pace.phase)
            elif pace.phase != "ended" and now - before.at > self._limit_of(process, pace.phase):
                return Hang(now - before.at, [one for one, other in trainers.items() if other.dumps])
        return None

    def last_step(self) -> int | None:
        """Of all that have trained; those that were killed too. None: no Trainer has."""
        paces = [pace_file.read(entry) for entry in self._trainers.iterdir()]
        return max((pace.step for pace in paces if pace), default=None)

    def _limit_of(self, process: int, phase: Phase) -> float:
        if self._limit is not None:
            return self._limit
        if phase == "step" and process in self._longest:
            return max(_AT_LEAST_SECONDS, _TIMES_THE_LONGEST * self._longest[process])
        return _SECONDS_OF.get(phase, _FIRST_STEP_SECONDS)

    def _of(self, process: int) -> pace_file.Pace | None:
        return pace_file.read(self._trainers / str(process))
