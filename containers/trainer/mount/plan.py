"""The accepted plan, as the mount shows it."""

import time
from pathlib import Path

from pydantic import ValidationError

from belay.contract.plan import RunPlan

_LOOK_AGAIN_SECONDS = 2.0


class PlanUnreadable(Exception):
    """The mount has no plan that this trainer understands."""


def read_plan(path: Path, *, within_seconds: float = 0) -> RunPlan:
    """Waits as long as there is none: a file that is not imported yet does not exist."""
    deadline = time.monotonic() + within_seconds
    if within_seconds and not path.exists():
        print(f"{path} is not there yet: waiting up to {within_seconds:g} s for FSx to show it.", flush=True)
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(_LOOK_AGAIN_SECONDS)
    try:
        return RunPlan.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise PlanUnreadable(f"{path}: {error}") from error
