"""SIGTERM only sets a flag; training reads it where its state is consistent."""

import logging
import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

logger = logging.getLogger(__name__)

EXIT_CODE = 128 + signal.SIGTERM


class Stopped(SystemExit):
    """Training ended on request, with everything saved that could be."""

    def __init__(self) -> None:
        super().__init__(EXIT_CODE)


class Interrupted(BaseException):
    """Ends a wait of the training thread where nothing is lost by it."""


class StopRequest:
    """Set by SIGTERM. A second one changes nothing: a save in progress is never interrupted."""

    def __init__(self, *, deadline_seconds: float | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.deadline_seconds = deadline_seconds
        self._clock = clock
        self._asked_at: float | None = None
        self._may_interrupt = False
        self._process = os.getpid()

    @property
    def asked(self) -> bool:
        return self._asked_at is not None

    def seconds_left(self) -> float:
        if self.deadline_seconds is None:
            return math.inf
        return self.deadline_seconds - (self._clock() - self._asked_at if self._asked_at is not None else 0.0)

    def note(self) -> None:
        if self._asked_at is None:
            self._asked_at = self._clock()

    @contextmanager
    def listening(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            logger.warning("Training outside the main thread: SIGTERM will not save a checkpoint.")
            yield
            return
        before = signal.signal(signal.SIGTERM, self._take_note)
        try:
            yield
        finally:
            # Another handler may have been set meanwhile: it stays.
            if signal.getsignal(signal.SIGTERM) == self._take_note:
                signal.signal(signal.SIGTERM, before)

    @contextmanager
    def interrupting(self) -> Iterator[None]:
        """In this block the request is not only noted: it ends the block, by Interrupted."""
        # In this order: a signal between the two lines is seen by one of them.
        self._may_interrupt = True
        try:
            if self.asked:
                raise Interrupted
            yield
        finally:
            self._may_interrupt = False

    def _take_note(self, number: int, frame: FrameType | None) -> None:
        if os.getpid() != self._process:
            # A forked process, such as a worker, has nothing to save.
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            return
        self.note()
        if self._may_interrupt:
            self._may_interrupt = False
            raise Interrupted
