import json
from pathlib import Path
from typing import Any

from pytest import approx

from client.planning import plan_of
from contract.faults import parse_job
from contract.job import Job
from contract.prices import Prices
from tests.client.looks import saved

PRICES = Prices(instance_hour=4.0, scratch_gib_month=0.146)


def job(**parts: Any) -> Job:
    raw = json.loads((Path(__file__).parents[2] / "examples" / "digits.json").read_text())
    return parse_job({**raw, **parts})


def test_a_save_takes_as_long_as_the_file_system_writes_it() -> None:
    plan = plan_of(job(scratch={"size": "2400GiB"}), PRICES, parameters=1e9)
    assert plan.write_mb_per_second == approx(234, abs=1)
    assert plan.checkpoint_gb == approx(12)
    assert plan.save_seconds == approx(12_000 / 234, rel=0.01)


def test_what_an_earlier_run_measured_counts_more_than_an_estimate() -> None:
    saves = [saved(10, seconds=1, stall_seconds=stall) for stall in (0.01, 0.02, 0.9)]
    plan = plan_of(job(), PRICES, saves=saves)
    assert (plan.checkpoint_gb, plan.save_seconds, plan.stall_seconds) == approx((0.001234567, 0.2, 0.02))


def test_the_most_that_it_can_cost_is_every_attempt_up_to_its_limit() -> None:
    limits = {"train": "10h", "scratch": "30m", "link": "30m", "export": "1h"}
    plan = plan_of(job(limits=limits, retry={"capacity": 0, "interruption": 1, "crash": 0}), PRICES)
    file_system = 1200 * 0.146 / 730
    assert plan.most_usd == approx(2 * 10 * (4.0 + file_system) + 2 * file_system)


def test_a_budget_is_the_most() -> None:
    assert plan_of(job(limits={"budget_usd": 7.5}), PRICES).most_usd == 7.5


def test_without_a_price_the_most_is_not_guessed() -> None:
    assert plan_of(job(), Prices()).most_usd is None


def test_what_may_be_lost_is_said_as_the_job_says_it() -> None:
    assert plan_of(job(checkpoint={}), PRICES).loss.startswith("up to 10m of training")
    assert plan_of(job(checkpoint={"every": "200 steps"}), PRICES).loss.startswith("up to 200 steps of training")
    bounded = plan_of(job(checkpoint={"max_loss": "$5"}), PRICES)
    assert bounded.cadence == "as often as max_loss ($5) needs"
    assert bounded.loss.startswith("at most $5 of training")
