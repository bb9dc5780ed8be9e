"""What the hook must know, as the entry point hands it down in one environment variable."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

ENVIRONMENT_VARIABLE = "BELAY_HOOK"


@dataclass(frozen=True)
class HookSettings:
    run: str
    node: int
    attempt: int
    job: str
    root: Path
    """The mount: paths in events are relative to it."""
    checkpoints: Path
    staging: Path
    resume: Path
    resume_step: int | None
    """Training must not begin below this step: the plan says that a checkpoint of it is there."""
    events: Path
    every_steps: int | None
    every_seconds: int | None
    keep: int
    stop_seconds: int
    """From SIGTERM until the supervisor kills what is left."""
    scratch: Path
    max_loss_seconds: float | None = None
    failures_per_hour: float = 0.0
    proof_seconds: float = 60.0
    """What may lie between an export and its proof, and before it."""
    exact_data: bool = False

    @property
    def trainers(self) -> Path:
        """A file for each process that is in training, named by its id: the supervisor sends SIGTERM to these."""
        return self.scratch / "trainers"

    @property
    def first_error(self) -> Path:
        """The exception that ended training, in one sentence."""
        return self.scratch / "first-error"

    def to_json(self) -> str:
        return json.dumps(asdict(self), default=str)

    @classmethod
    def from_json(cls, text: str) -> "HookSettings":
        values = json.loads(text)
        for name in ("root", "checkpoints", "staging", "resume", "events", "scratch"):
            values[name] = Path(values[name])
        return cls(**values)
