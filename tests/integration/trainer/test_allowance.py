"""Whichever is spent first, time or money, ends training while it can still save."""

from datetime import UTC, datetime, timedelta

import pytest

from belay.contract import exit_codes
from belay.contract.faults import parse_job
from belay.contract.plan import RunPlan
from containers.trainer.entry.allowance import allowance_of

BEGAN = datetime(2026, 11, 21, 12, tzinfo=UTC)
NOTHING = timedelta()


def plan(*, train: str, spend_minutes: float | None = None) -> RunPlan:
    job = {
        "name": "tiny",
        "dataset": {"s3": "datasets/tiny/"},
        "train": {"command": ["train.py"]},
        "limits": {"train": train},
    }
    return RunPlan(
        run="20261121t120000z-3f9a2c1b",
        execution_arn="arn",
        started_at=BEGAN,
        bucket="belay",
        prefix="jobs/tiny/run/",
        job=parse_job(job),
        resume=None,
        spend_until=None if spend_minutes is None else BEGAN + timedelta(minutes=spend_minutes),
    )


def test_the_time_limit_leaves_what_saving_takes() -> None:
    allowed = allowance_of(plan(train="1h"), began=BEGAN, waited=NOTHING, stop_seconds=100)
    assert allowed.until == BEGAN + timedelta(seconds=3600 - 100)
    assert allowed.exit_code == exit_codes.TIME_SPENT


def test_a_short_limit_is_not_spent_on_saving_alone() -> None:
    assert allowance_of(plan(train="60s"), began=BEGAN, waited=NOTHING, stop_seconds=100).until == BEGAN + timedelta(
        seconds=48
    )


def test_what_a_run_waited_for_aws_costs_nothing_of_its_budget() -> None:
    waited = timedelta(hours=3)
    allowed = allowance_of(plan(train="10h", spend_minutes=30), began=BEGAN, waited=waited, stop_seconds=100)
    assert (allowed.exit_code, allowed.until) == (exit_codes.BUDGET_SPENT, BEGAN + waited + timedelta(minutes=30))


@pytest.mark.parametrize(
    ("minutes", "code"), [(10, exit_codes.BUDGET_SPENT), (90, exit_codes.TIME_SPENT), (-5, exit_codes.BUDGET_SPENT)]
)
def test_what_is_spent_first_is_what_ends_it(minutes: float, code: int) -> None:
    allowed = allowance_of(plan(train="1h", spend_minutes=minutes), began=BEGAN, waited=NOTHING, stop_seconds=100)
    assert allowed.exit_code == code
    assert allowed.seconds_left(BEGAN) >= 0
