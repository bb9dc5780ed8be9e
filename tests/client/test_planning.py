import json
import re
from pathlib import Path
from typing import Any

import pytest
from pytest import approx
from stallfree import max_loss, pace

from client import cadence
from client.planning import Earlier, plan_of
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
    assert bounded.cadence.startswith("as max_loss allows; nobody knows yet what a save takes")
    assert (bounded.every_seconds, bounded.max_loss_kept) == (None, None)
    assert bounded.loss.startswith("at most $5 of training")


def test_a_save_that_takes_longer_than_the_time_between_two_is_said_and_counts_as_loss() -> None:
    plan = plan_of(job(checkpoint={"every": "10m"}), PRICES, parameters=7e9)
    assert plan.save_seconds == approx(717, abs=1)
    assert plan.cadence == "10m, which is less than a save takes: training will wait for its saves"
    assert plan.loss.startswith("up to 10m of training, 11m57s of writing, and a minute or two")
    assert plan_of(job(checkpoint={"every": "20m"}), PRICES, parameters=7e9).cadence == "20m"


def test_from_the_loss_and_what_a_save_takes_follows_how_often_it_saves() -> None:
    plan = plan_of(job(checkpoint={"max_loss": "30m"}), PRICES, parameters=1e9)
    assert plan.save_seconds is not None
    assert plan.every_seconds == approx(0.9 * 1800 - plan.save_seconds - 120)
    assert plan.max_loss_kept and plan.cadence == "23m: a save is proven 3m42s after it"


def test_where_failures_are_frequent_it_saves_as_often_as_is_cheapest() -> None:
    checkpoint = {"max_loss": "30m", "failures_per_day": 24}
    earlier = Earlier([saved(10, seconds=1, stall_seconds=0.5)], step_seconds=1.0, proof_seconds=90.0)
    plan = plan_of(job(checkpoint=checkpoint), PRICES, earlier=earlier)
    assert plan.every_seconds == approx(60, rel=0.02)
    assert "the cheapest at failures_per_day" in plan.cadence


def test_a_promise_that_cannot_be_kept_is_said_so_with_one_that_could_be() -> None:
    plan = plan_of(job(checkpoint={"max_loss": "5m"}), PRICES, parameters=7e9)
    assert plan.max_loss_kept is False
    assert "max_loss cannot be kept" in plan.cadence and "larger file system" in plan.cadence
    [wanted] = re.findall(r"allow (\w+) or more", plan.cadence)
    assert plan_of(job(checkpoint={"max_loss": wanted}), PRICES, parameters=7e9).max_loss_kept
    assert plan.loss.startswith("more than 5m")


@pytest.mark.parametrize("loss_seconds", [300.0, 1800.0, 14400.0])
@pytest.mark.parametrize(("save", "stall", "step"), [(0.5, 0.01, 0.2), (60.0, 5.0, 2.0), (900.0, 20.0, 30.0)])
@pytest.mark.parametrize("failures_per_day", [None, 1.0, 50.0])
def test_the_plan_reckons_as_the_trainer_does(
    loss_seconds: float, save: float, stall: float, step: float, failures_per_day: float | None
) -> None:
    measured = cadence.Measured(save, stall, step, proof_seconds=120.0)
    told = cadence.pace_of(loss_seconds, measured, failures_per_day=failures_per_day)
    of_the_trainer = pace.Measured(step_seconds=step, cost_seconds=stall, durable_seconds=save, safe_seconds=save + 120)
    assert told.every_seconds == approx(
        pace.interval_seconds(
            of_the_trainer,
            most_loss_seconds=max_loss._PLANNED * loss_seconds,
            failures_per_hour=(failures_per_day or 0) / 24,
        )
    )
