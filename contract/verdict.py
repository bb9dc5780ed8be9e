"""The two answers of a run: how training ended, and whether its checkpoints are safe. Neither hides the other."""

from enum import StrEnum

from pydantic import BaseModel, ConfigDict


class Training(StrEnum):
    """How training ended."""

    COMPLETED = "Completed"
    CRASHED = "Crashed"
    TIMED_OUT = "TimedOut"
    TIME_SPENT = "TimeSpent"
    BUDGET_SPENT = "BudgetSpent"
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
    Training.INTERRUPTED: "Training was interrupted",
    Training.NO_CAPACITY: "No instance could be had for training",
    Training.STOPPED: "Training was stopped on request",
    Training.NEVER_STARTED: "Training never started",
}


class Verdict(BaseModel):
    model_config = ConfigDict(frozen=True)

    training: Training
    durability: Durability
    reason: str
    last_verified_step: int | None
    where: str

    @property
    def error(self) -> str:
        """The execution's error name, for filters and alarms: 'TrainingCrashed.CheckpointsVerified'."""
        return f"Training{self.training}.Checkpoints{self.durability}"

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
