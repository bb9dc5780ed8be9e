from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from belay.contract.paths import RunPrefix, checkpoint_folder, checkpoint_step
from belay.contract.run import RUN, execution_digest, run_id, started_at_of

ARN = "arn:aws:states:us-east-1:123456789012:execution:belay-train:first"
MOMENT = datetime(2026, 11, 21, 2, 44, 55, 987654, tzinfo=UTC)


def test_a_run_id_says_when_and_which() -> None:
    assert run_id(ARN, MOMENT) == f"20261121t024455z-{execution_digest(ARN)[:8]}"


def test_it_is_the_same_wherever_on_earth_it_is_computed() -> None:
    assert run_id(ARN, MOMENT.astimezone(timezone(timedelta(hours=-5)))) == run_id(ARN, MOMENT)


def test_two_executions_of_one_second_differ() -> None:
    assert run_id(ARN, MOMENT) != run_id(f"{ARN}-2", MOMENT)


moments = st.datetimes(min_value=datetime(2020, 1, 1), max_value=datetime(2100, 1, 1), timezones=st.just(UTC))


@given(first=moments, second=moments)
def test_run_ids_sort_by_time_and_give_it_back(first: datetime, second: datetime) -> None:
    first_id, second_id = run_id(ARN, first), run_id(ARN, second)
    assert RUN.fullmatch(first_id)
    assert started_at_of(first_id) == first.replace(microsecond=0)
    if first.replace(microsecond=0) < second.replace(microsecond=0):
        assert first_id < second_id


def test_a_digest_fits_where_it_is_used() -> None:
    assert len(f"{execution_digest(ARN)}-link-resume") <= 63
    assert execution_digest(ARN).isalnum()


@given(st.integers(min_value=0, max_value=10**12 - 1))
def test_a_checkpoint_folder_gives_its_step_back(step: int) -> None:
    assert checkpoint_step(checkpoint_folder(step)) == step


@pytest.mark.parametrize(
    "folder", ["", "checkpoint", "checkpoint-", "checkpoint-01", "checkpoint--1", "tmp-checkpoint-1", "checkpoint-1\n"]
)
def test_what_only_looks_like_a_checkpoint_folder_is_none(folder: str) -> None:
    assert checkpoint_step(folder) is None


def test_everything_of_a_run_lies_under_its_own_closed_prefix() -> None:
    one, longer = RunPrefix("digits", "run-1"), RunPrefix("digits", "run-10")
    keys = [one.plan, one.ledger, one.events, one.certificate, one.trainer_events, one.manifest(4), one.checkpoint(4)]
    assert all(key.startswith(one.root) for key in keys)
    assert not longer.root.startswith(one.root)
    assert one.root.endswith("/")
