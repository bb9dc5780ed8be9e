"""What a fast tier is, and when which tier is due."""

import threading
from dataclasses import dataclass
from pathlib import Path

from stallfree.cadence import Cadence
from stallfree.events import MaxLossNotKept


@dataclass(frozen=True)
class Tier:
    """A folder of this run alone on a fast disk or in memory. What it holds may be lost with the machine."""

    folder: Path
    cadence: Cadence
    keep: int = 2


class BothCadences(Cadence):
    """A save is due for either tier; which of them go on to the second one is noted."""

    def __init__(self, fast: Cadence, slow: Cadence) -> None:
        self._fast = fast
        self._slow = slow
        self._lock = threading.Lock()
        self._slow_due_from: int | None = None
        self._slow_was_due = True
        """To begin with: both count from when training begins."""

    def is_due(self, step: int) -> bool:
        slow = self._slow.is_due(step)
        if slow:
            self._slow_was_due = True
            with self._lock:
                # A save that was skipped is made up for by the next one.
                self._slow_due_from = self._slow_due_from or step
        return self._fast.is_due(step) or slow

    def saved(self) -> None:
        self._fast.saved()
        if self._slow_was_due:
            self._slow.saved()
            self._slow_was_due = False

    def unkept(self) -> MaxLossNotKept | None:
        return self._fast.unkept() or self._slow.unkept()

    def goes_on(self, step: int) -> bool:
        """Whether the checkpoint of this step is for both; asked once for each, by the thread that saved it."""
        with self._lock:
            goes = self._slow_due_from is not None and step >= self._slow_due_from
            if goes:
                self._slow_due_from = None
        return goes
