"""The accepted plan, as the mount shows it."""

from pathlib import Path

from pydantic import ValidationError

from contract.plan import RunPlan


class PlanUnreadable(Exception):
    """The mount has no plan that this trainer understands."""


def read_plan(path: Path) -> RunPlan:
    try:
        return RunPlan.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise PlanUnreadable(f"{path}: {error}") from error
