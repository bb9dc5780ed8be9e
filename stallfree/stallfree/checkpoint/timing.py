"""Where the seconds of a save go."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal

PhaseName = Literal["copy", "write", "fsync", "commit"]

_recording: ContextVar["Timing | None"] = ContextVar("stallfree_timing", default=None)


class Timing:
    """Seconds by phase. Time counts once, for the innermost phase that is open in the recording thread."""

    def __init__(self, *, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._seconds: defaultdict[PhaseName, float] = defaultdict(float)
        self._open: list[PhaseName] = []
        self._since = 0.0

    def seconds(self, name: PhaseName) -> float | None:
        """None: this way of saving has no such phase."""
        return self._seconds.get(name)

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Until the end of the block, phases of this thread (and of no other) count here."""
        token = _recording.set(self)
        try:
            yield
        finally:
            _recording.reset(token)

    @contextmanager
    def during(self, name: PhaseName) -> Iterator[None]:
        self._count()
        self._open.append(name)
        try:
            yield
        finally:
            self._count()
            self._open.pop()

    def _count(self) -> None:
        now = self._clock()
        if self._open:
            self._seconds[self._open[-1]] += now - self._since
        self._since = now


@contextmanager
def phase(name: PhaseName) -> Iterator[None]:
    """What the block takes is this phase of the save that is being recorded, if one is."""
    timing = _recording.get()
    if timing is None:
        yield
        return
    with timing.during(name):
        yield
