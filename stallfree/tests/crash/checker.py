"""The output of processes of a training, compared with the uninterrupted training."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from stallfree.checkpoint.durable import flush

from crash.training_process import TrainingProcess


@dataclass
class Tally:
    """Faults, and how training went on after each."""

    faults_injected: int = 0
    during_a_save: int = 0
    """A save had begun that was not acknowledged yet."""
    not_resumed: int = 0
    """The next process did not get to its first step, though there may have been a checkpoint."""
    wrong_state: int = 0
    """It resumed in a state that the uninterrupted training never had."""
    lost: int = 0
    """It resumed from an older step than one that was acknowledged."""
    rejected: int = 0
    """A checkpoint was not whole, and was not used."""
    silent: int = 0
    """A call failed, and training ended without an error."""

    @property
    def corrupt(self) -> int:
        return self.not_resumed + self.wrong_state


class Checker:
    """For one folder, in which each process resumes."""

    def __init__(self, folder: Path, reference: Mapping[int, int], tally: Tally) -> None:
        self._folder = folder
        self._reference = reference
        self._tally = tally
        self._acknowledged = 0

    def read(self, process: TrainingProcess) -> None:
        """Read the output of a process that has ended; after a wrong result, or the end, the folder is deleted."""
        began, wrong_state, lost, at, saved = False, False, False, 0, 0
        for line in process.lines():
            if line.what == "rejected":
                self._tally.rejected += 1
            elif line.what == "saved":
                saved = line.step
                self._acknowledged = max(self._acknowledged, saved)
            else:
                at = line.step
                began = True
                lost = lost or (line.what == "began" and at < self._acknowledged)
                wrong_state = wrong_state or line.mark != self._reference.get(at)
        self._tally.during_a_save += at > saved
        self._tally.not_resumed += not began
        self._tally.wrong_state += wrong_state
        self._tally.lost += lost
        if wrong_state or lost or not began or at == max(self._reference):
            self.start_anew()

    def start_anew(self) -> None:
        if self._folder.exists():
            shutil.rmtree(self._folder)
            flush(self._folder.parent)  # Or a power cut brings it back.
        self._acknowledged = 0
