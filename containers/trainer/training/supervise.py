"""Running the training command: its signals, its deadline, and the truth about its end."""

import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType

from training.processes import adopt_orphans, descendants, end_descendants, send

_LOOK_EVERY_SECONDS = 2.0


class Supervisor:
    """SIGTERM is passed on to those who save on it; what is still there at the deadline is killed, or as soon as
    somebody does not want to wait for that.

    When nothing is left to train with, it is as if SIGTERM had come.
    """

    def __init__(
        self,
        *,
        trainers: Path,
        seconds_left: float,
        stop_seconds: int,
        on_stop: Callable[[signal.Signals], None],
        at_once: Callable[[], bool],
    ) -> None:
        self._trainers = trainers
        self._seconds_left = seconds_left
        self._stop_seconds = stop_seconds
        self._on_stop = on_stop
        self._at_once = at_once
        self._deadline = 0.0
        self.stop_asked = False
        self.end_asked = False
        self.all_spent = False
        self.deadline_passed = False

    def run(self, command: list[str], *, environment: Mapping[str, str], folder: Path) -> int:
        """Exit code as a shell gives it: 128 + the number of a signal that ended it."""
        adopt_orphans()
        # First the handlers: a signal between start and handler would leave a training that nobody ends.
        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGALRM, self._ring)
        # Not 0, which would mean never.
        signal.setitimer(signal.ITIMER_REAL, max(self._seconds_left, 0.001))
        child = subprocess.Popen(command, env=environment, cwd=folder, start_new_session=True)
        if self.stop_asked:
            # It came before there was anybody to tell.
            send(signal.SIGTERM, [child.pid])
        code = child.wait()
        signal.setitimer(signal.ITIMER_REAL, 0)
        # Workers of a killed launcher would go on training, and hold the file system.
        end_descendants()
        return code if code >= 0 else 128 - code

    def _stop(self, number: int, frame: FrameType | None) -> None:
        if self.stop_asked:
            return
        self.stop_asked = True
        self._on_stop(signal.Signals(number))
        self._deadline = time.monotonic() + self._stop_seconds
        # Only to Trainers in training. Told as well, data loader workers would die, and the step with them;
        # launchers would count down a time-out of their own. Where nobody trains, there is nothing to save.
        send(signal.SIGTERM, self._in_training() or descendants())
        self._look()

    def _ring(self, number: int, frame: FrameType | None) -> None:
        if self.stop_asked:
            self._look()
        else:
            self.all_spent = True
            self._stop(signal.SIGTERM, frame)

    def _look(self) -> None:
        """After the signal, so that no save waits for the answer; and again and again, for whoever asks later."""
        left = self._deadline - time.monotonic()
        self.deadline_passed = left <= 0
        self.end_asked = self.end_asked or (not self.deadline_passed and self._at_once())
        if self.deadline_passed or self.end_asked:
            send(signal.SIGKILL, descendants())
        # Even then: what was being started while it was killed is there only now.
        signal.setitimer(signal.ITIMER_REAL, min(_LOOK_EVERY_SECONDS, left) if left > 0 else _LOOK_EVERY_SECONDS)

    def _in_training(self) -> list[int]:
        below = {str(process) for process in descendants()}
        return [int(entry.name) for entry in self._trainers.iterdir() if entry.name in below]


def reason_of(code: int, supervisor: Supervisor, last_words: Path) -> str:
    """Why training ended with this code, in the words of the training itself where it left any."""
    if supervisor.end_asked:
        return "training was ended at once, as somebody asked, without waiting for its save"
    if supervisor.deadline_passed:
        return "training did not end in time when asked to, and was killed"
    if supervisor.stop_asked:
        return "training was asked to stop"
    if last_words.exists():
        return last_words.read_text(errors="replace").strip()
    if code == 128 + signal.SIGKILL:
        return "training was killed (SIGKILL), as happens when memory runs out"
    if code > 128:
        return f"training was ended by signal {code - 128}"
    return f"training ended with exit code {code}"
