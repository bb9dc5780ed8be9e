"""For any events in any order: every moment is in one bucket, and together the buckets are the wall time."""

import operator
from datetime import timedelta
from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from belay.contract.prices import Rates
from belay.goodput.buckets import Bucket
from belay.goodput.flow_states import BUCKET_OF_STATE, flow_state_of
from belay.goodput.measures import goodput_of
from belay.goodput.timeline import timeline_of
from tools.docgen.sample_runs import (
    START,
    at,
    evaluated,
    failed,
    finished,
    resumed,
    saved,
    started,
    steps,
    stopped,
    verified,
)

_SECONDS = st.floats(-50, 500)
_LASTED = st.one_of(st.floats(-5, 60), st.just(float("inf")))
_STEP = st.integers(0, 60)
_ATTEMPT = st.integers(1, 4)
EVENT: st.SearchStrategy[Any] = st.one_of(
    st.builds(started, _SECONDS, attempt=_ATTEMPT),
    st.builds(resumed, _STEP, _SECONDS, attempt=_ATTEMPT),
    st.builds(
        lambda step, begin, each, attempt: steps(step, step, begin=begin, each=each, attempt=attempt)[0],
        _STEP,
        _SECONDS,
        st.floats(0.001, 20),
        _ATTEMPT,
    ),
    st.builds(saved, _STEP, _SECONDS, stall=_LASTED, durable=_LASTED, attempt=_ATTEMPT),
    st.builds(evaluated, _STEP, _SECONDS, runtime=_LASTED, attempt=_ATTEMPT),
    st.builds(verified, _STEP, _SECONDS),
    st.builds(finished, _STEP, _SECONDS, attempt=_ATTEMPT),
    st.builds(failed, _SECONDS, attempt=_ATTEMPT),
    st.builds(stopped, _STEP, _SECONDS, attempt=_ATTEMPT),
)
# A training, so that other events fall into it.
_TRAINING = st.builds(
    lambda every, attempt: [started(10, attempt=attempt), *steps(1, 60, begin=20, every=every, attempt=attempt)],
    st.integers(1, 10),
    _ATTEMPT,
)
STATE = st.builds(
    lambda state, seconds: flow_state_of(at(seconds), state),
    st.sampled_from(sorted(state for state, bucket in BUCKET_OF_STATE.items() if bucket)),
    _SECONDS,
)


@settings(max_examples=250, deadline=None)
@given(
    events=st.builds(operator.add, st.lists(EVENT, max_size=30), st.one_of(st.just([]), _TRAINING)),
    phases=st.lists(STATE, max_size=8),
    in_order=st.booleans(),
    wall=st.floats(0, 450),
    is_over=st.booleans(),
)
def test_the_buckets_are_the_wall_time_to_the_microsecond(
    events: list[Any], phases: list[Any], in_order: bool, wall: float, is_over: bool
) -> None:
    given = sorted(events, key=lambda event: event.at) if in_order else events
    begin, end = START, START + timedelta(seconds=wall)
    timeline = timeline_of(lambda: given, phases, begin=begin, end=end, is_over=is_over)

    wall_us = (end - begin) // timedelta(microseconds=1)
    assert sum(timeline.us_of.values()) == timeline.wall_us == wall_us
    [line] = (node.spans for node in timeline.nodes)
    edges = [span.start_us for span in line] + [span.end_us for span in line[-1:]]
    assert edges == sorted(set(edges)), "no span is empty, none overlaps"
    assert all(one.end_us == two.start_us for one, two in pairwise(line))
    assert 0 <= timeline.durable_us <= timeline.us_of[Bucket.COMPUTE]
    goodput = goodput_of(timeline, Rates(instance_usd_per_hour=4.0, file_system_usd_per_hour=0.25))
    for share in (goodput.time, goodput.durable, goodput.dollars):
        assert share is None or 0 <= share <= 1


def test_dollar_goodput_counts_the_cost_of_kept_steps() -> None:
    events: list[Any] = [started(0), *steps(1, 100, begin=50), saved(100, 150), finished(100, 200)]
    rates = Rates(instance_usd_per_hour=36.0, file_system_usd_per_hour=0.0)
    timeline = timeline_of(
        lambda: events,
        [phase for phase in [flow_state_of(START, "Train")] if phase],
        begin=START,
        end=at(200),
        is_over=True,
    )
    goodput = goodput_of(timeline, rates)
    assert goodput.cost.usd == 2.0
    assert goodput.dollars == 0.5


def test_without_prices_there_is_no_dollar_goodput_but_time_goodput() -> None:
    events: list[Any] = [started(0), *steps(1, 10, begin=0)]
    timeline = timeline_of(lambda: events, [], begin=START, end=at(20), is_over=False)
    goodput = goodput_of(timeline, None)
    assert goodput.dollars is None and goodput.cost.usd is None
    assert goodput.time is not None and goodput.time > 0
