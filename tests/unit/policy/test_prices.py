"""A budget ends training early enough that saving, exporting and deleting are still paid for."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from belay.contract.faults import JobRefused, parse_job
from belay.contract.job import Job
from belay.contract.prices import Prices, Rates
from belay.policy.prices import EXPORTING, SAVING, BudgetUnusable, rates_of, spend_until

START = datetime(2026, 11, 21, tzinfo=UTC)
PRICES = Prices(instance_hour=1.0, spot_instance_hour=0.4, scratch_gib_month=0.14)
RATES = Rates(instance_usd_per_hour=1.0, file_system_usd_per_hour=0.25)


def job(**parts: Any) -> Job:
    train = {"recipe": "causal-lm", "model": "gpt2"}
    return parse_job({"name": "digits", "dataset": {"s3": "datasets/digits/"}, "train": train, **parts})


def test_what_is_left_of_the_budget_pays_for_saving_and_exporting() -> None:
    until = spend_until(job(limits={"budget_usd": 10}), RATES, START)

    assert until is not None
    trained = (until - START) / timedelta(hours=1) * 1.25
    afterwards = SAVING / timedelta(hours=1) * 1.25 + EXPORTING / timedelta(hours=1) * 0.25
    assert trained + afterwards == pytest.approx(10)


def test_a_larger_budget_lasts_longer_and_none_lasts_for_ever() -> None:
    small, large = (spend_until(job(limits={"budget_usd": usd}), RATES, START) for usd in (5, 50.5))
    assert small is not None and large is not None and small < large
    assert spend_until(job(), RATES, START) is None


def test_a_budget_that_training_would_get_nothing_of_is_refused_with_what_it_takes() -> None:
    with pytest.raises(BudgetUnusable, match=r"saving and exporting alone may cost 0\.23 USD.* at 1\.25 USD an hour"):
        spend_until(job(limits={"budget_usd": 0.2}), RATES, START)


@pytest.mark.parametrize(
    "parts", [{}, {"scratch": {"size": "1200GiB", "type": "PERSISTENT_2"}}], ids=["instance", "file system"]
)
def test_a_budget_needs_every_price(parts: dict[str, Any]) -> None:
    asked = job(limits={"budget_usd": 10}, **parts)
    known = Prices(instance_hour=1.0) if parts else Prices()
    with pytest.raises(BudgetUnusable, match=r"set 'prices' in cdk\.json"):
        spend_until(asked, rates_of(asked, known), START)


def test_spot_costs_at_most_its_own_price_or_that_on_demand() -> None:
    spot = job(resources={"spot": True})
    assert rates_of(spot, PRICES).instance_usd_per_hour == 0.4
    assert rates_of(spot, Prices(instance_hour=1.0)).instance_usd_per_hour == 1.0
    assert rates_of(job(), PRICES).instance_usd_per_hour == 1.0


def test_the_file_system_costs_what_its_size_does() -> None:
    small, large = rates_of(job(), PRICES), rates_of(job(scratch={"size": "2400GiB"}), PRICES)
    assert small.file_system_usd_per_hour == pytest.approx(1200 * 0.14 / 730)
    assert large.file_system_usd_per_hour == pytest.approx(2 * 1200 * 0.14 / 730)


@pytest.mark.parametrize(
    ("budget", "fault"),
    [
        (0, "limits.budget_usd: must be more than 0"),
        (-3.5, "limits.budget_usd: must be more than 0"),
        ("10", "limits.budget_usd: must be a number"),
        (float("nan"), "limits.budget_usd: "),
        (float("inf"), "limits.budget_usd: "),
        (1e9, "limits.budget_usd: must be at most 10000000"),
    ],
)
def test_a_budget_is_a_number_of_dollars(budget: object, fault: str) -> None:
    with pytest.raises(JobRefused) as refused:
        job(limits={"budget_usd": budget})
    assert any(said.startswith(fault) for said in refused.value.faults), refused.value.faults
