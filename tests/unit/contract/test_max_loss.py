"""How much work a failure may cost: in time, or in the dollars that the time costs."""

from typing import Any

import pytest

from belay.contract.faults import JobRefused, parse_job
from belay.contract.job import Job
from belay.contract.max_loss import LEAST_SECONDS, LossUnusable, loss_of
from belay.contract.prices import Rates
from belay.policy.prices import max_loss_seconds

RATES = Rates(instance_usd_per_hour=1.75, file_system_usd_per_hour=0.25)
NO_PRICES = Rates(instance_usd_per_hour=None, file_system_usd_per_hour=0.25)


def job(**checkpoint: Any) -> Job:
    train = {"recipe": "causal-lm", "model": "gpt2"}
    return parse_job(
        {"name": "digits", "dataset": {"s3": "datasets/digits/"}, "train": train, "checkpoint": checkpoint}
    )


def faults(**checkpoint: Any) -> list[str]:
    with pytest.raises(JobRefused) as refused:
        job(**checkpoint)
    return refused.value.faults


def test_time_is_itself_and_dollars_are_what_they_pay_for() -> None:
    assert max_loss_seconds(job(max_loss="10m"), NO_PRICES) == 600
    assert max_loss_seconds(job(max_loss="$5"), RATES) == 2.5 * 3600
    assert max_loss_seconds(job(max_loss="$0.50"), RATES) == 900
    assert max_loss_seconds(job(), RATES) is None


def test_without_a_loss_saves_come_every_ten_minutes_and_with_one_as_it_takes() -> None:
    assert job().checkpoint.every_seconds == 600
    assert job(max_loss="1h").checkpoint.every_seconds is None
    both = job(max_loss="1h", every="20m").checkpoint
    assert (both.every_seconds, both.every_steps) == (1200, None)
    assert job(max_loss="1h", every="20 steps").checkpoint.every_steps == 20
    # Written down and read again it is the same: nothing hangs on what was left out.
    again = Job.model_validate_json(job(max_loss="1h").model_dump_json())
    assert again == job(max_loss="1h") and again.checkpoint.every_seconds is None


@pytest.mark.parametrize(
    ("checkpoint", "fault"),
    [
        ({"max_loss": "a little"}, "checkpoint.max_loss: 'a little' is no loss; write a time like '30m', or dollars"),
        ({"max_loss": "5$"}, "checkpoint.max_loss: '5$' is no loss"),
        ({"max_loss": "$0"}, "checkpoint.max_loss: '$0' can never be kept; allow more"),
        ({"max_loss": "$-5"}, "checkpoint.max_loss: '$-5' is no loss"),
        ({"max_loss": "2m"}, "checkpoint.max_loss: that is 120 s of work in all, and a save alone is proven"),
        ({"max_loss": 600}, "checkpoint.max_loss: must be text; put it in quotes"),
        ({"max_loss": "10m", "every": "10m"}, "checkpoint: saves every '10m' risk more than max_loss allows ('10m');"),
        ({"failures_per_day": 2}, "checkpoint: 'failures_per_day' goes with 'max_loss'; give one"),
        ({"max_loss": "10m", "failures_per_day": 0}, "checkpoint.failures_per_day: must be more than 0"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_fix(checkpoint: dict[str, Any], fault: str) -> None:
    (told,) = faults(**checkpoint)
    assert told.startswith(fault)


@pytest.mark.parametrize(
    ("checkpoint", "rates", "fault"),
    [
        ({"max_loss": "$5"}, NO_PRICES, "does not know its prices; set 'prices' in cdk.json"),
        ({"max_loss": "$0.05"}, RATES, "that is 90 s of work at 2.00 USD an hour, .* allow 180 s or more"),
        ({"max_loss": "$0.50", "every": "1h"}, RATES, "that is 900 s of work, and saves every '1h' risk more"),
    ],
)
def test_what_only_the_prices_can_tell_is_refused_too(checkpoint: dict[str, Any], rates: Rates, fault: str) -> None:
    with pytest.raises(LossUnusable, match=fault):
        max_loss_seconds(job(**checkpoint), rates)


def test_the_least_that_can_be_asked_for_is_accepted() -> None:
    assert loss_of(f"{LEAST_SECONDS}s").seconds == LEAST_SECONDS
