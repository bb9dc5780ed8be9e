"""What the task was started with. Everything else stands in the plan, on the mount."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

_REQUIRED = ("BELAY_RUN", "BELAY_ATTEMPT", "BELAY_SCRATCH_DNS", "BELAY_SCRATCH_MOUNT_NAME")


class EnvironmentIncomplete(Exception):
    """The task was not started by Belay's state machine, or not in full."""


@dataclass(frozen=True)
class Environment:
    run: str
    node: int
    """Which machine of the run this is, from 0."""
    attempt: int
    attempt_began: datetime
    """When the task was asked for: what limits.train counts from."""
    waited: timedelta
    """How long the run has waited for AWS before, at no cost."""
    scratch_dns: str
    scratch_mount_name: str
    mount_point: Path
    user: int
    """Whom training runs as, user id and group id alike."""
    plan_seconds: float
    """How long the plan is waited for. FSx shows the names of what lies in S3 before training is started; should it be
    late with one, that ends no run."""
    stop_seconds: int
    """From SIGTERM until training must be gone: the task's stopTimeout less what recording the end takes."""

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> "Environment":
        if missing := [name for name in _REQUIRED if not environ.get(name)]:
            raise EnvironmentIncomplete(f"not set: {', '.join(missing)}")
        return cls(
            run=environ["BELAY_RUN"],
            node=int(environ.get("BELAY_NODE", "0")),
            attempt=int(environ["BELAY_ATTEMPT"]),
            attempt_began=_moment(environ.get("BELAY_ATTEMPT_BEGAN")),
            waited=timedelta(seconds=float(environ.get("BELAY_WAITED_SECONDS", "0"))),
            scratch_dns=environ["BELAY_SCRATCH_DNS"],
            scratch_mount_name=environ["BELAY_SCRATCH_MOUNT_NAME"],
            mount_point=Path(environ.get("BELAY_MOUNT_POINT", "/fsx")),
            user=int(environ.get("BELAY_USER", "10001")),
            plan_seconds=float(environ.get("BELAY_PLAN_SECONDS", "120")),
            stop_seconds=int(environ.get("BELAY_STOP_SECONDS", "100")),
        )


def _moment(text: str | None) -> datetime:
    return datetime.fromisoformat(text) if text else datetime.now(UTC)
