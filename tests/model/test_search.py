"""The search of all states: what it takes to be alike is alike, and what is broken it finds."""

import copy
import random
from typing import Any

import pytest

from tests.model import anything
from tests.model.deployed import Deployed
from tests.model.net import Step
from tests.model.numbered import Numbered, Steps
from tests.model.search import Search
from tests.model.trace import told

WALKS = 40
LONGEST = 60


def _cheapest(steps: list[tuple[int, Numbered]]) -> dict[Numbered, int]:
    found: dict[Numbered, int] = {}
    for cost, to in steps:
        found[to] = min(cost, found.get(to, cost))
    return found


def test_what_may_happen_in_a_state_may_happen_in_the_one_that_stands_for_it(definitions: Deployed) -> None:
    """So nothing is lost by looking at that one alone: where both lead is alike again, and no fault more is needed."""
    net = definitions.endless()
    steps, chance, looked_at = Steps(net), random.Random(4), set()
    for _ in range(WALKS):
        system = net.begin()
        for _ in range(LONGEST):
            here = steps.number(system)
            ahead: list[Step] = list(anything.steps(net, system))
            meant = _cheapest([(one.cost, steps.number(one.to)) for one in ahead])
            found = _cheapest([(one.cost, one.to) for one in steps.of(here)])
            meant.pop(here, None)
            assert meant == found, _differences(steps, meant, found)
            looked_at.add(here)
            usual = [one for one in ahead if not one.cost and "ABORTED" not in one.label]
            system = chance.choice(usual if usual and chance.random() < 0.7 else ahead).to
    assert len(looked_at) > 5 * WALKS, len(looked_at)


def _differences(steps: Steps, meant: dict[Numbered, int], found: dict[Numbered, int]) -> str:
    only = [(one, cost, meant.get(one)) for one, cost in found.items() if meant.get(one) != cost]
    other = [(one, cost, found.get(one)) for one, cost in meant.items() if found.get(one) != cost]
    return "\n".join(f"{steps.system(one)} {costs}" for one, *costs in [*only, *other])


def test_without_faults_but_stopped_anywhere_every_state_has_a_clean_end_ahead(definitions: Deployed) -> None:
    found = Search(definitions.endless(), most_states=100_000, faults=False).run()
    assert found.complete
    assert not found.broken, told(*next(iter(found.broken.items())))
    assert found.states > 100


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
