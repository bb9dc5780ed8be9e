"""Several nodes: a run's time is not counted once for each, and it does not matter which node is which."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from belay.contract.prices import Rates
from belay.goodput.buckets import Bucket
from belay.goodput.measures import goodput_of
from belay.goodput.timeline import Timeline, timeline_of
from tests.unit.goodput.test_sums import EVENT, STATE
from tools.docgen.sample_runs import BEFORE, START, at, failed, finished, flow, resumed, saved, started, steps, verified

RATES = Rates(instance_usd_per_hour=4.0, file_system_usd_per_hour=0.25)
LISTS = st.lists(EVENT, max_size=25).map(lambda events: sorted(events, key=lambda event: event.at))


def on(node: int, *events: Any) -> list[Any]:
    return [event.model_copy(update={"node": node}) for event in events]


def of(events: list[Any], nodes: int, states: Any = (), *, seconds: float = 450, is_over: bool = True) -> Timeline:
    in_order = sorted(events, key=lambda event: event.at)
    return timeline_of(lambda: in_order, list(states), begin=START, end=at(seconds), is_over=is_over, nodes=nodes)


@settings(max_examples=40, deadline=None)
@given(events=LISTS, states=st.lists(STATE, max_size=6), nodes=st.integers(2, 3), is_over=st.booleans())
def test_nodes_that_did_the_same_have_the_goodput_of_one(
    events: list[Any], states: list[Any], nodes: int, is_over: bool
) -> None:
    one = of(events, 1, states, is_over=is_over)
    all_alike = of(
        [copy for event in events for n in range(nodes) for copy in on(n, event)], nodes, states, is_over=is_over
    )
    assert all_alike.us_of == one.us_of
    assert (all_alike.wall_us, all_alike.durable_us) == (one.wall_us, one.durable_us)
    assert (all_alike.kept_step, all_alike.verified_step) == (one.kept_step, one.verified_step)
    assert all_alike.most_attempts == one.most_attempts
    mine, theirs = goodput_of(one, RATES), goodput_of(all_alike, RATES)
    assert (theirs.time, theirs.durable) == (mine.time, mine.durable)
    # Each has an instance of its own; the file system is one.
    assert theirs.cost.instance_usd == pytest.approx(nodes * (mine.cost.instance_usd or 0))
    assert theirs.cost.file_system_usd == mine.cost.file_system_usd


@settings(max_examples=40, deadline=None)
@given(lists=st.tuples(LISTS, LISTS, LISTS), states=st.lists(STATE, max_size=6), data=st.data())
def test_which_node_is_which_changes_nothing(
    lists: tuple[list[Any], ...], states: list[Any], data: st.DataObject
) -> None:
    names = data.draw(st.permutations(range(3)))
    # No two nodes speak in one moment: what comes first would then be a matter of their order.
    apart = [
        [event.model_copy(update={"at": event.at + timedelta(microseconds=7 * number + 1)}) for event in events]
        for number, events in enumerate(lists)
    ]
    run, renamed = [], []
    for number, events in enumerate(apart):
        run += on(number, *events)
        renamed += on(names[number], *events)
    before, after = of(run, 3, states), of(renamed, 3, states)
    assert after.us_of == before.us_of
    assert (after.durable_us, after.kept_step, after.verified_step) == (
        before.durable_us,
        before.kept_step,
        before.verified_step,
    )
    for number in range(3):
        assert after.nodes[names[number]].spans == before.nodes[number].spans


@settings(max_examples=40, deadline=None)
@given(events=LISTS, nodes=st.integers(1, 4), data=st.data(), wall=st.floats(0, 450))
def test_the_buckets_are_the_wall_time_to_the_microsecond_for_any_number_of_nodes(
    events: list[Any], nodes: int, data: st.DataObject, wall: float
) -> None:
    mixed = [copy for event in events for copy in on(data.draw(st.integers(0, nodes)), event)]
    timeline = of(mixed, nodes, seconds=wall)
    assert sum(timeline.us_of.values()) == timeline.wall_us == (at(wall) - START) // timedelta(microseconds=1)
    assert 0 <= timeline.durable_us <= timeline.us_of[Bucket.COMPUTE]


def test_a_node_that_lost_steps_costs_its_share_of_the_runs_time() -> None:
    """Both train 40 steps, a second each. Node 1 dies and does the last ten again; node 0 waits for it."""
    common = [started(100), *steps(1, 40, begin=110), saved(30, 140)]
    waits = on(0, *common, *steps(41, 60, begin=170), saved(60, 190), finished(60, 190))
    again = on(
        1,
        *(started(100), *steps(1, 40, begin=110), failed(150)),
        *(started(152, attempt=2), resumed(30, 155, attempt=2), *steps(31, 60, begin=160, attempt=2)),
        finished(60, 190, attempt=2),
    )
    timeline = of([*waits, *again, verified(60, 195)], 2, flow(*BEFORE), seconds=190)
    shares = {bucket: us / 1e6 for bucket, us in timeline.us_of.items()}
    assert timeline.nodes[1].attempts[1].resumed_from == 30, "node 0 announced it, node 1 goes on from it"
    assert shares[Bucket.LOST] == pytest.approx(10 / 2)
    assert shares[Bucket.RECOVERY] == pytest.approx(10 / 2)
    assert [len(node.attempts) for node in timeline.nodes] == [1, 2]


def test_a_late_line_about_a_save_of_an_earlier_attempt_counts_on_no_node() -> None:
    events = [
        *(started(0), *steps(1, 40, begin=0), saved(30, 30)),
        *(started(50, attempt=2), resumed(30, 55, attempt=2), saved(40, 56)),
    ]
    assert of(events, 1).kept_step == 30
    assert of([*events, *on(1, *events)], 2).kept_step == 30


def test_a_line_of_a_node_that_the_run_does_not_have_is_passed_over() -> None:
    events = [started(0), *steps(1, 10, begin=0)]
    stranger = on(7, started(1), *steps(1, 400, begin=1, each=0.1))
    assert of([*events, *stranger], 1).us_of == of(events, 1).us_of
