import json
import re
from pathlib import Path
from typing import Any

from pytest import approx

from belay.client.planning import Earlier, plan_of
from belay.client.save_interval import interval_of
from belay.contract.faults import parse_job
from belay.contract.job import Job
from belay.contract.prices import Prices
from tests.unit.client.samples import saved

PRICES = Prices(instance_hour=4.0, scratch_gib_month=0.146)


def job(**parts: Any) -> Job:
    raw = json.loads((Path(__file__).parents[3] / "examples" / "digits.json").read_text())
    return parse_job({**raw, **parts})


def test_a_save_takes_as_long_as_the_file_system_writes_it() -> None:
    plan = plan_of(job(scratch={"size": "2400GiB"}), PRICES, parameters=1e9)
    assert plan.write_mb_per_second == approx(234, abs=1)
    assert plan.checkpoint_gb == approx(12)
    assert plan.save_seconds == approx(12_000 / 234, rel=0.01)


def test_what_an_earlier_run_measured_counts_more_than_an_estimate() -> None:
    saves = [saved(10, seconds=1, stall_seconds=stall) for stall in (0.01, 0.02, 0.9)]
    plan = plan_of(job(), PRICES, earlier=Earlier(saves))
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
    assert bounded.cadence.startswith("as max_loss allows; what a save takes is not known yet")
    assert (bounded.every_seconds, bounded.max_loss_kept) == (None, None)
    assert bounded.loss.startswith("at most $5 of training")


def test_a_save_that_takes_longer_than_the_time_between_two_is_said_and_counts_as_loss() -> None:
    plan = plan_of(job(checkpoint={"every": "10m"}), PRICES, parameters=7e9)
    assert plan.save_seconds == approx(717, abs=1)
    assert plan.cadence == "10m, which is less than a save takes: training will wait for its saves"
    assert plan.loss.startswith("up to 10m of training, 11m57s of writing, and a minute or two")
    assert plan_of(job(checkpoint={"every": "20m"}), PRICES, parameters=7e9).cadence == "20m"


def test_before_a_run_has_measured_it_the_plan_says_how_far_apart_saves_can_be() -> None:
    plan = plan_of(job(checkpoint={"max_loss": "30m"}), PRICES, parameters=1e9)
    assert plan.save_seconds is not None
    assert plan.every_seconds == approx(1800 - plan.save_seconds - 120)
    assert plan.max_loss_kept and plan.cadence == "26m at most: a save is proven 3m42s after it"
    rate = plan_of(job(checkpoint={"max_loss": "30m", "failures_per_day": 24}), PRICES, parameters=1e9)
    assert rate.cadence == f"{plan.cadence}; more often where failures_per_day makes that cheaper"


def test_an_earlier_run_with_the_same_promise_says_how_often_it_saves() -> None:
    checkpoint = {"max_loss": "30m", "failures_per_day": 24}
    earlier = Earlier([saved(10, seconds=1)], step_seconds=1.0, proof_seconds=90.0, interval_seconds=60.0)
    plan = plan_of(job(checkpoint=checkpoint), PRICES, earlier=earlier)
    assert (plan.every_seconds, plan.cadence) == (60.0, "1m, as in the last run with this max_loss")


def test_the_interval_of_a_run_is_that_of_its_regular_saves() -> None:
    """The first save is early, the last one is the end of training, and between attempts no time is an interval."""
    first = [saved(step, seconds=at) for step, at in ((10, 10), (20, 15), (60, 75), (100, 137))]
    second = [saved(step, seconds=at, attempt=2) for step, at in ((140, 900), (180, 960), (190, 970))]
    assert interval_of([*first, *second]) == 60.0
    assert interval_of(first[:3]) is None and interval_of([]) is None


def test_a_promise_that_cannot_be_kept_is_said_so_with_one_that_could_be() -> None:
    plan = plan_of(job(checkpoint={"max_loss": "5m"}), PRICES, parameters=7e9)
    assert plan.max_loss_kept is False
    assert "max_loss cannot be kept" in plan.cadence and "larger file system" in plan.cadence
    [wanted] = re.findall(r"allow (\w+) or more", plan.cadence)
    assert plan_of(job(checkpoint={"max_loss": wanted}), PRICES, parameters=7e9).max_loss_kept
    assert plan.loss.startswith("more than 5m")
