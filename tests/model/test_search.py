"""The search of all states: what it takes to be alike is alike, and what is broken it finds."""

import copy
import random
from typing import Any

import pytest

from tests.model import anything, tokens
from tests.model.deployed import Deployed
from tests.model.interpreter import TRIES
from tests.model.net import Net, Step, System
from tests.model.numbered import Numbered, Steps
from tests.model.search import Search
from tests.model.trace import told

WALKS = 120
LONGEST = 20
MOST_STATES = 1_000_000


Order = tuple[int, bool]


def _cheapest(steps: list[tuple[Order, Numbered]]) -> dict[Numbered, Order]:
    found: dict[Numbered, Order] = {}
    for order, to in steps:
        found[to] = min(order, found.get(to, order))
    return found


def test_what_may_happen_in_a_state_may_happen_in_the_one_that_stands_for_it(definitions: Deployed) -> None:
    """So nothing is lost by looking at that one alone: where both lead is alike again, and no fault more is needed."""
    net = definitions.endless()
    steps, chance, looked_at = Steps(net), random.Random(4), set()
    begins = _all_over(net)
    for _ in range(WALKS):
        system = chance.choice(begins)
        for _ in range(LONGEST):
            here = steps.number(system)
            ahead: list[Step] = list(anything.steps(net, system))
            meant = _cheapest([((one.cost, not one.maybe), steps.number(one.to)) for one in ahead])
            found = _cheapest([(one.order, one.to) for one in steps.of(here)])
            meant.pop(here, None)
            assert meant == found, _differences(steps, meant, found)
            looked_at.add(here)
            new = [one for one in ahead if steps.number(one.to) not in looked_at] or ahead
            usual = [one for one in new if not one.cost and "ABORTED" not in one.label]
            system = chance.choice(usual if usual and chance.random() < 0.7 else new).to
    assert len(looked_at) > 10 * WALKS, len(looked_at)
    assert {len(one.teardowns) for one in looked_at} == {0, 1, 2}


def _all_over(net: Net) -> list[System]:
    """What goes wrong late is far from the beginning. Of those that are alike the first that is met, as it is."""
    steps, found = Steps(net), [net.begin()]
    known = {steps.number(found[0])}
    # The list is its own queue.
    for system in found:
        for one in anything.steps(net, system):
            if not one.cost and (number := steps.number(one.to)) not in known:
                known.add(number)
                found.append(one.to)
    return found


def test_nothing_that_those_who_count_their_proofs_may_do_is_left_out(definitions: Deployed) -> None:
    """As it is, a teardown gives up after the third. In the search it may give up at any, and none is the last."""
    net = definitions.endless()
    steps, chance = Steps(net), random.Random(5)
    counts: set[int] = set()
    begins = [one for one in _all_over(net) if _is_proving(one)]
    for _ in range(WALKS // 2):
        system = chance.choice(begins)
        for _ in range(LONGEST):
            found = {one.to for one in steps.of(steps.number(_uncounted(system)))}
            index = chance.randrange(len(system.teardowns))
            ahead = [*net.teardown_steps(system, index), *anything.by_itself(net, system)]
            meant = {steps.number(_uncounted(one.to)) for one in ahead} - {steps.number(_uncounted(system))}
            assert meant <= found, [steps.system(one) for one in meant - found]
            counts.update(one.frame.variables[TRIES] for one in system.teardowns)
            system = chance.choice([one.to for one in ahead if _is_proving(one.to)] or begins)
    assert {0, 1, 2} <= counts, counts


def _is_proving(system: System) -> bool:
    return bool(system.teardowns) and all(TRIES in one.frame.variables for one in system.teardowns)


def _uncounted(system: System) -> System:
    running, world = [], system.world
    for one in system.teardowns:
        one, world = tokens.uncounted(one, world)
        running.append(one)
    return system._replace(teardowns=tuple(running), world=world)


def _differences(steps: Steps, meant: dict[Numbered, Order], found: dict[Numbered, Order]) -> str:
    only = [(one, cost, meant.get(one)) for one, cost in found.items() if meant.get(one) != cost]
    other = [(one, cost, found.get(one)) for one, cost in meant.items() if found.get(one) != cost]
    return "\n".join(f"{steps.system(one)} {costs}" for one, *costs in [*only, *other])


def test_no_state_with_any_number_of_faults_breaks_a_promise_and_each_has_a_clean_end_ahead(
    definitions: Deployed,
) -> None:
    """All of them, whatever fails, and Train stopped anywhere: some 40 s."""
    found = Search(definitions.endless(), most_states=MOST_STATES).run()
    assert not found.broken, told(*next(iter(found.broken.items())))
    assert found.complete
    assert found.states > MOST_STATES / 10


@pytest.mark.parametrize(
    ("state", "change", "promise"),
    [
        ("Holds work?", {"Default": "Delete file system"}, "is not whole in S3"),
        ("Anything left?", {"Choices": [], "Default": "Nothing left to do"}, "no clean end can be reached"),
    ],
)
def test_a_broken_flow_is_seen_without_a_single_fault(
    definitions: Deployed, state: str, change: dict[str, Any], promise: str
) -> None:
    broken = copy.deepcopy(definitions.definitions)
    broken["Teardown"]["States"][state].update(change)
    found = Search(definitions._replace(definitions=broken).endless(), most_states=100_000, faults=False).run()
    assert any(promise in one for one in found.broken), found
    assert "Accept job" in told(*next(iter(found.broken.items())))


@pytest.mark.parametrize(("at_last", "is_clean"), [("Cannot be proven", True), ("Export to S3", False)])
def test_proofs_that_are_not_counted_come_to_an_end_all_the_same(
    definitions: Deployed, at_last: str, is_clean: bool
) -> None:
    """Of a file system that is lost with a checkpoint on it nothing can be proven. Who never gives up is seen."""
    changed = copy.deepcopy(definitions.definitions)
    changed["Teardown"]["States"]["All in S3?"]["Default"] = at_last
    net = definitions._replace(definitions=changed).endless()
    found = Search(net, most_states=100_000, faults=False, begin=_lost(net)).run()
    assert found.complete
    assert (not found.broken) is is_clean, found


def _lost(net: Net) -> System:
    """Train was stopped when it had saved a checkpoint, and its file system is lost."""
    world = next(
        one
        for one in (system.world for system in _all_over(net))
        if one.train and one.file_systems and one.file_systems[0].saved
    )
    lost = world.file_systems[0]._replace(lifecycle="FAILED")
    return System(None, world=world._replace(file_systems=(lost,), trainings=(), exports=(), child=None))
