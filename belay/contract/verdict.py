"""The two answers of a run: how training ended, and whether its checkpoints are safe. Neither hides the other."""

import re
from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict


class Training(StrEnum):
    """How training ended."""

    COMPLETED = "Completed"
    CRASHED = "Crashed"
    TIMED_OUT = "TimedOut"
    TIME_SPENT = "TimeSpent"
    BUDGET_SPENT = "BudgetSpent"
    HUNG = "Hung"
    NO_PROGRESS = "NoProgress"
    INTERRUPTED = "Interrupted"
    NO_CAPACITY = "NoCapacity"
    STOPPED = "Stopped"
    NEVER_STARTED = "NeverStarted"


class Durability(StrEnum):
    """What became of the checkpoints."""

    VERIFIED = "Verified"
    NOTHING_SAVED = "NothingSaved"
    KEPT = "Kept"
    LOST = "Lost"


_TRAINING = {
    Training.COMPLETED: "Training completed",
    Training.CRASHED: "Training crashed",
    Training.TIMED_OUT: "Training ran out of its time limit",
    Training.TIME_SPENT: "Training was ended while its time limit still allowed saving",
    Training.BUDGET_SPENT: "Training was ended while its budget still allowed saving",
    Training.HUNG: "Training hung and was ended",
    Training.NO_PROGRESS: "Training failed at the same step again and again",
    Training.INTERRUPTED: "Training was interrupted",
    Training.NO_CAPACITY: "No instance could be had for training",
    Training.STOPPED: "Training was stopped on request",
    Training.NEVER_STARTED: "Training never started",
}


# The error of an execution that ended badly has both answers: 'TrainingCrashed.CheckpointsVerified'.
OF_TRAINING = "Training"
_OF_CHECKPOINTS = "Checkpoints"
TEARDOWN_UNFINISHED = "TeardownUnfinished"
"""In place of the second answer, as long as nobody knows it."""
_ERROR = re.compile(rf"{OF_TRAINING}({'|'.join(Training)})\.\w+")


def training_in(error: str) -> Training | None:
    """How training ended, if this is such an error."""
    found = _ERROR.fullmatch(error)
    return Training(found[1]) if found else None


class Ending(BaseModel):
    """How training ended, and how that is known. `task`: from the task itself; `execution`: only from its execution."""

    model_config = ConfigDict(frozen=True)

    outcome: Training
    reason: str
    source: Literal["task", "execution"] = "task"


class Verdict(BaseModel):
    model_config = ConfigDict(frozen=True)

    training: Training
    durability: Durability
    reason: str
    last_verified_step: int | None
    where: str

    @property
    def error(self) -> str:
        """The name of the execution's error, for filters and alarms."""
        return f"{OF_TRAINING}{self.training}.{_OF_CHECKPOINTS}{self.durability}"

    @property
    def sentence(self) -> str:
        return f"{_TRAINING[self.training]} ({self.reason}). {self._safety()}"

    def _safety(self) -> str:
        match self.durability:
            case Durability.VERIFIED:
                return f"Checkpoints up to step {self.last_verified_step} are verified in {self.where}."
            case Durability.NOTHING_SAVED:
                return "No checkpoint had been finished, so there was none to keep."
            case Durability.KEPT:
                verified = "none" if self.last_verified_step is None else f"step {self.last_verified_step}"
                return (
                    f"The export could not be proven (last verified: {verified}), so the file system is kept"
                    " and goes on costing money until someone looks."
                )
            case Durability.LOST:
                verified = "none" if self.last_verified_step is None else f"step {self.last_verified_step}"
                return (
                    f"The file system is gone, and not all that was saved on it can be proven in {self.where}"
                    f" (last verified: {verified})."
                )
