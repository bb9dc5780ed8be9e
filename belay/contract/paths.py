"""Where everything of a run lies: in S3, and on the mount that shows the same folders."""

import re
from dataclasses import dataclass

MANIFEST = "checkpoint.manifest.json"

# On the file system, relative to its root. Only what is listed in an export task ever leaves it:
# `staging` is beside `checkpoints` so that a rename is atomic, and is never exported.
RUN_LINK = "/run"
DATA_LINK = "/data"
RESUME_LINK = "/resume"
EXPORTED_CHECKPOINTS = "run/checkpoints"
EXPORTED_EVENTS = "run/events"

JOBS = "jobs/"

_CHECKPOINT = re.compile(r"checkpoint-(0|[1-9][0-9]{0,11})")


def checkpoint_folder(step: int) -> str:
    return f"checkpoint-{step}"


def checkpoint_step(folder: str) -> int | None:
    """'checkpoint-40' -> 40; anything else -> None."""
    match = _CHECKPOINT.fullmatch(folder)
    return int(match[1]) if match else None


def job_prefix(job: str) -> str:
    return f"{JOBS}{job}/"


@dataclass(frozen=True)
class RunPrefix:
    """The run's keys in Belay's bucket."""

    job: str
    run: str

    @property
    def root(self) -> str:
        return f"{job_prefix(self.job)}{self.run}/"

    @property
    def plan(self) -> str:
        return f"{self.root}run.json"

    @property
    def checkpoints(self) -> str:
        return f"{self.root}checkpoints/"

    @property
    def trainer_events(self) -> str:
        return f"{self.root}events/trainer.jsonl"

    @property
    def ledger(self) -> str:
        return f"{self.root}ledger.json"

    @property
    def pump_state(self) -> str:
        return f"{self.root}pump.json"

    @property
    def events(self) -> str:
        return f"{self.root}events.jsonl"

    @property
    def certificate(self) -> str:
        return f"{self.root}certificate.json"

    def checkpoint(self, step: int) -> str:
        return f"{self.checkpoints}{checkpoint_folder(step)}/"

    def manifest(self, step: int) -> str:
        return f"{self.checkpoint(step)}{MANIFEST}"
