"""What lives of a training tell, compared with the training that nothing befell."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from stallfree.checkpoint.durable import flush

from crash.life import Life


@dataclass
class Tally:
    """Fires, and what became of the training after each."""

    fires: int = 0
    in_a_save: int = 0
    """A save had begun that was not acknowledged yet."""
    refused: int = 0
    """The next life did not get to its first step, though something may have been there to begin from."""
    astray: int = 0
    """It went on from what no uninterrupted training ever was."""
    lost: int = 0
    """It went on from an older step than one that was acknowledged."""
    passed_over: int = 0
    """A checkpoint stood there that was not whole, and was not taken."""
    unnoticed: int = 0
    """A call failed, and training ended as if nothing had been."""

    @property
    def corrupt(self) -> int:
        return self.refused + self.astray


class Judge:
    """Of one folder that life after life goes on in."""

    def __init__(self, folder: Path, true_path: Mapping[int, int], tally: Tally) -> None:
        self._folder = folder
        self._true_path = true_path
        self._tally = tally
        self._acknowledged = 0

    def hear(self, life: Life) -> None:
        """Take in a life that has ended; after a wrong one, or a whole one, the next begins with nothing."""
        began, astray, lost, at, saved = False, False, False, 0, 0
        for told in life.told():
            if told.what == "passed":
                self._tally.passed_over += 1
            elif told.what == "saved":
                saved = told.step
                self._acknowledged = max(self._acknowledged, saved)
            else:
                at = told.step
                began = True
                lost = lost or (told.what == "began" and at < self._acknowledged)
                astray = astray or told.mark != self._true_path.get(at)
        self._tally.in_a_save += at > saved
        self._tally.refused += not began
        self._tally.astray += astray
        self._tally.lost += lost
        if astray or lost or not began or at == max(self._true_path):
            self.start_anew()

    def start_anew(self) -> None:
        if self._folder.exists():
            shutil.rmtree(self._folder)
            flush(self._folder.parent)  # Or a power cut brings it back.
        self._acknowledged = 0
