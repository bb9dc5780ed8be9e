"""How often to save: what the arithmetic promises holds for any steps, saves and failures."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stallfree.cadence.interval import SaveTimes, cheapest_seconds, interval_seconds

HOUR = 3600
costs = st.floats(0.001, 600)
rates = st.floats(0.001, 4)
seconds = st.floats(0, 3600)
any_measured = st.builds(
    lambda step, cost, durable, beyond: SaveTimes(step, cost, durable, durable + beyond),
    seconds,
    costs,
    seconds,
    seconds,
)


def hours_of_an_hours_work(interval: float, cost: float, failures_per_hour: float) -> float:
    """What it takes on average, failures, repeated work and saves included (Daly's complete model, no restart time)."""
    between = HOUR / failures_per_hour
    return between / interval * math.expm1((interval + cost) / between)


@given(cost=costs, rate=rates, factor=st.floats(0.05, 20))
def test_no_other_interval_is_noticeably_cheaper(cost: float, rate: float, factor: float) -> None:
    cheapest = cheapest_seconds(cost, failures_per_hour=rate)
    other = cheapest * factor
    if cost < HOUR / rate / 2 and (other + cost) / (HOUR / rate) < 700:
        assert hours_of_an_hours_work(cheapest, cost, rate) <= 1.005 * hours_of_an_hours_work(other, cost, rate)


def test_for_cheap_saves_it_is_youngs_formula() -> None:
    assert cheapest_seconds(1.0, failures_per_hour=0.01) == pytest.approx(math.sqrt(2 * 1.0 * 360_000), rel=0.01)


@given(measured=any_measured, most=st.floats(1, 10_000), rate=st.just(0.0) | rates)
def test_a_loss_that_can_be_kept_is_kept_and_saves_never_come_closer_than_they_can(
    measured: SaveTimes, most: float, rate: float
) -> None:
    interval = interval_seconds(measured, most_loss_seconds=most, failures_per_hour=rate)
    assert interval >= max(measured.step_seconds, measured.durable_seconds)
    if measured.least_seconds + measured.safe_seconds <= most:
        assert interval + measured.safe_seconds <= most * (1 + 1e-9)


@given(measured=any_measured, most=st.floats(1, 10_000), rate=rates, factor=st.floats(1, 10))
def test_more_failures_never_mean_fewer_saves(measured: SaveTimes, most: float, rate: float, factor: float) -> None:
    calm = interval_seconds(measured, most_loss_seconds=most, failures_per_hour=rate)
    rough = interval_seconds(measured, most_loss_seconds=most, failures_per_hour=rate * factor)
    # Where a save costs more than half of what lies between two failures, the formula is no longer exact.
    if measured.cost_seconds < HOUR / (rate * factor) / 10:
        assert rough <= calm * (1 + 1e-9)
