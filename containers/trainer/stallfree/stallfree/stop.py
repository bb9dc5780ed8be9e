"""Being asked to stop: the signal only leaves a note, training reads it where its state is consistent."""

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

logger = logging.getLogger(__name__)

EXIT_CODE = 128 + signal.SIGTERM


class Stopped(SystemExit):
    """Training ended on request, with everything saved."""

    def __init__(self) -> None:
        super().__init__(EXIT_CODE)


class StopRequest:
    """Set by SIGTERM. A second one changes nothing: a save in progress is never interrupted."""

    def __init__(self) -> None:
        self.asked = False

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
            signal.signal(signal.SIGTERM, before)

    def _take_note(self, number: int, frame: FrameType | None) -> None:
        self.asked = True
