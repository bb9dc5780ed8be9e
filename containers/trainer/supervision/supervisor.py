"""Runs training: passes a stop on, and ends at the deadline what has not ended by itself."""

import contextlib
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from types import FrameType

from containers.trainer.supervision.pace import Pace
from containers.trainer.supervision.processes import adopt_orphans, descendants, end_descendants, send

_LOOK_EVERY_SECONDS = 0.5
_ASK_EVERY_SECONDS = 2.0
_LOOK_FOR_HANG_EVERY_SECONDS = 5.0
# From SIGKILL on. Together with recording the end it must fit between the deadline and the task's stopTimeout.
_GIVE_UP_AFTER_SECONDS = 4.0


class Supervisor:
    """SIGTERM is passed on to those who save on it. What is still there at the deadline is killed, or earlier, as soon
    as a person has asked to end training now.

    When no time or money is left to train with, or training hangs, it is as if SIGTERM had come.
    """

    def __init__(
        self,
        *,
        seconds_left: float,
        stop_seconds: int,
        on_stop: Callable[[], None],
        end_now_asked: Callable[[], bool],
        pace: Pace,
    ) -> None:
        """`on_stop` is called once, after the signal was passed on."""
        self._seconds_left = seconds_left
        self._stop_seconds = stop_seconds
        self._on_stop = on_stop
        self._end_now_asked = end_now_asked
        self._pace = pace
        self._deadline = 0.0
        self._ask_again_at = 0.0
        self._look_for_hang_at = 0.0
        self._killed_at: float | None = None
        self.stop_asked = False
        self.end_asked = False
        self.all_spent = False
        self.silent_seconds: float | None = None
        """How long training had made no step when it was taken for hung."""
        self.deadline_passed = False
        self.gave_up = False

    def run(self, command: list[str], *, variables: Mapping[str, str]) -> int:
        """Exit code as a shell gives it: 128 + the number of a signal that ended it."""
        adopt_orphans()
        # First the handlers: a signal between start and handler would leave a training that nobody ends.
        signal.signal(signal.SIGTERM, self._on_sigterm)
        signal.signal(signal.SIGALRM, self._on_alarm)
        # Not 0, which would mean never.
        signal.setitimer(signal.ITIMER_REAL, max(self._seconds_left, 0.001))
        child = subprocess.Popen(command, env=variables, start_new_session=True)
        if self.stop_asked:
            # It came before there was a process to pass it on to.
            send(signal.SIGTERM, [child.pid])
        code = self._wait(child)
        signal.setitimer(signal.ITIMER_REAL, 0)
        # Workers of a killed launcher would go on training, and hold the file system.
        end_descendants(within_seconds=0 if self.gave_up else _GIVE_UP_AFTER_SECONDS)
        return code if code >= 0 else 128 - code

    def _wait(self, child: "subprocess.Popen[bytes]") -> int:
        reported = False
        while not self.gave_up:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(_LOOK_EVERY_SECONDS)
            if self.stop_asked and not reported:
                reported = True
                self._on_stop()
            if child.returncode is not None:
                return child.returncode
            if self.stop_asked:
                self._look()
            else:
                self._end_if_hung()
        return -signal.SIGKILL

    def _on_sigterm(self, number: int, frame: FrameType | None) -> None:
        self._stop()

    def _on_alarm(self, number: int, frame: FrameType | None) -> None:
        if not self.stop_asked:
            self.all_spent = True
            self._stop()
        elif time.monotonic() >= self._deadline:
            self.deadline_passed = True
            self._kill()

    def _stop(self) -> None:
        """The deadline and the signal, and nothing else: what else a stop brings is done by `_wait`."""
        if self.stop_asked:
            return
        self._deadline = time.monotonic() + self._stop_seconds
        self.stop_asked = True
        signal.setitimer(signal.ITIMER_REAL, max(self._stop_seconds, 0.001), _LOOK_EVERY_SECONDS)
        # Only to Trainers in training. With the signal, data loader workers would die, and the step with them;
        # launchers would count down a time-out of their own. Where nobody trains, there is nothing to save.
        processes = descendants()
        send(signal.SIGTERM, self._pace.in_training(processes) or processes)

    def _look(self) -> None:
        now = time.monotonic()
        if self._killed_at is None and now >= self._ask_again_at:
            self._ask_again_at = now + _ASK_EVERY_SECONDS
            self.end_asked = self._end_now_asked()
        if self.end_asked or self.deadline_passed:
            # Again and again: what was being started while it was killed is there only now.
            self._kill()
        self.gave_up = self._killed_at is not None and now - self._killed_at >= _GIVE_UP_AFTER_SECONDS

    def _end_if_hung(self) -> None:
        now = time.monotonic()
        if now < self._look_for_hang_at:
            return
        self._look_for_hang_at = now + _LOOK_FOR_HANG_EVERY_SECONDS
        hang = self._pace.hang(descendants())
        if hang:
            self.silent_seconds = hang.silent_seconds
            # What each thread waits for says why, and nobody can ask it afterwards.
            send(signal.SIGUSR2, hang.dumping)
            self._stop()

    def _kill(self) -> None:
        self._killed_at = self._killed_at or time.monotonic()
        send(signal.SIGKILL, descendants())
