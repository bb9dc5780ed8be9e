"""A thread that ends the process before its deadline, if training cannot do so by itself."""

import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn

from stallfree.training.stop import EXIT_CODE, StopRequest

logger = logging.getLogger(__name__)

_NO_SOCKET = -1
_shared_with_forks: set[int] = set()


def _ignore_signals_in_a_fork() -> None:
    """It shares our socket: a signal to it is not one to us."""
    if _shared_with_forks:
        signal.set_wakeup_fd(_NO_SOCKET)


os.register_at_fork(after_in_child=_ignore_signals_in_a_fork)


class Watchdog:
    """Gets SIGTERM from the interpreter's own handler, which also runs while a library blocks the training thread.

    Only one of the two ends the process: training at the end of a step, or this thread when it can wait no longer.
    """

    def __init__(
        self,
        stop: StopRequest,
        *,
        patience_seconds: Callable[[], float],
        fall_back: Callable[[], None],
        report: Callable[[], None],
        margin_seconds: float,
    ) -> None:
        self._stop = stop
        self._patience_seconds = patience_seconds
        self._fall_back = fall_back
        self._report = report
        self._margin_seconds = margin_seconds
        self._claim = threading.Lock()
        self._training_ends_it = threading.Event()
        self._over = threading.Event()

    def take_over(self) -> None:
        """Training has come to where it can end, and does so. If it is too late for that, this never returns."""
        if self._training_ends_it.is_set():
            return
        if not self._claim.acquire(blocking=False):
            threading.Event().wait()
        self._training_ends_it.set()

    @contextmanager
    def watching(self) -> Iterator[None]:
        if self._stop.deadline_seconds is None or threading.current_thread() is not threading.main_thread():
            yield
            return
        ours, interpreters = socket.socketpair()
        interpreters.setblocking(False)
        before = signal.set_wakeup_fd(interpreters.fileno(), warn_on_full_buffer=False)
        _shared_with_forks.add(interpreters.fileno())
        thread = threading.Thread(target=self._watch, args=(ours,), name="stallfree-deadline", daemon=True)
        thread.start()
        try:
            yield
        finally:
            signal.set_wakeup_fd(before)
            _shared_with_forks.discard(interpreters.fileno())
            self._training_ends_it.set()
            self._over.set()
            interpreters.close()
            thread.join()
            ours.close()

    def _watch(self, signals: socket.socket) -> None:
        while signal.SIGTERM not in (received := signals.recv(64)):
            if not received:
                return
        self._stop.note()
        if not self._training_ends_it.wait(max(0.0, self._patience_seconds())) and self._claim.acquire(blocking=False):
            self._end(self._fall_back, self._report)
        # Training saves, and may find the disk slower than it was: the deadline is for that, too.
        if not self._over.wait(max(0.0, self._stop.seconds_left() - self._margin_seconds / 2)):
            self._end(self._report)

    def _end(self, *last_works: Callable[[], None]) -> NoReturn:
        try:
            for work in last_works:
                work()
        except Exception:
            logger.exception("Not all could be done before the deadline.")
        finally:
            os._exit(EXIT_CODE)
