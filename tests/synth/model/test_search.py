"""The search of all states: its abstraction is sound, and it finds broken promises."""

import copy
import random
from typing import Any

import pytest

from tools.proofs.model import successors, tokens
from tools.proofs.model.flows import Flows
from tools.proofs.model.interpreter import TRIES
from tools.proofs.model.search import Search
from tools.proofs.model.system import Model, Step, System
from tools.proofs.model.trace import as_text
from tools.proofs.model.transitions import StateKey, Transitions

WALKS = 120
LONGEST = 20
MOST_STATES = 40_000


Order = tuple[int, bool]


def _cheapest(steps: list[tuple[Order, StateKey]]) -> dict[StateKey, Order]:
    found: dict[StateKey, Order] = {}
    for order, to in steps:
        found[to] = min(order, found.get(to, order))
    return found


def test_a_state_and_its_representative_have_the_same_successors(flows: Flows) -> None:
    """A bisimulation: both lead to the same representatives, for the same number of faults."""
    model = flows.endless()
    steps, chance, visited = Transitions(model), random.Random(4), set()
    begins = _from_all_stages(model)
    for _ in range(WALKS):
        system = chance.choice(begins)
        for _ in range(LONGEST):
            here = steps.number(system)
            ahead: list[Step] = list(successors.steps(model, system))
            expected = _cheapest([((one.cost, not one.maybe), steps.number(one.to)) for one in ahead])
            found = _cheapest([(one.order, one.to) for one in steps.of(here)])
            expected.pop(here, None)
            assert expected == found, _differences(steps, expected, found)
            visited.add(here)
            new = [one for one in ahead if steps.number(one.to) not in visited] or ahead
            usual = [one for one in new if not one.cost and "ABORTED" not in one.label]
            system = chance.choice(usual if usual and chance.random() < 0.7 else new).to
    assert len(visited) > 10 * WALKS, len(visited)
    assert {len(one.teardowns) for one in visited} == {0, 1, 2}


def _from_all_stages(model: Model) -> list[System]:
    """States from the beginning to the end of a run without faults; of equivalent ones the first."""
    steps, found = Transitions(model), [model.begin()]
    known = {steps.number(found[0])}
    # The list is also the queue.
    for system in found:
        for one in successors.steps(model, system):
            if not one.cost and (number := steps.number(one.to)) not in known:
                known.add(number)
                found.append(one.to)
    return found


def test_every_step_of_a_teardown_that_counts_its_proofs_is_in_the_search(flows: Flows) -> None:
    """A real teardown gives up after the third proof. In the search it may give up after any, or never."""
    model = flows.endless()
    steps, chance = Transitions(model), random.Random(5)
    counts: set[int] = set()
    begins = [one for one in _from_all_stages(model) if _is_verifying(one)]
    for _ in range(WALKS // 2):
        system = chance.choice(begins)
        for _ in range(LONGEST):
            found = {one.to for one in steps.of(steps.number(_uncounted(system)))}
            index = chance.randrange(len(system.teardowns))
            ahead = [*model.teardown_steps(system, index), *successors.by_itself(model, system)]
            expected = {steps.number(_uncounted(one.to)) for one in ahead} - {steps.number(_uncounted(system))}
            assert expected <= found, [steps.system(one) for one in expected - found]
            counts.update(one.frame.variables[TRIES] for one in system.teardowns)
            system = chance.choice([one.to for one in ahead if _is_verifying(one.to)] or begins)
    assert {0, 1, 2} <= counts, counts


def _is_verifying(system: System) -> bool:
    return bool(system.teardowns) and all(TRIES in one.frame.variables for one in system.teardowns)


def _uncounted(system: System) -> System:
    running, aws = [], system.aws
    for one in system.teardowns:
        one, aws = tokens.uncounted(one, aws)
        running.append(one)
    return system._replace(teardowns=tuple(running), aws=aws)


def _differences(steps: Transitions, expected: dict[StateKey, Order], found: dict[StateKey, Order]) -> str:
    only = [(one, cost, expected.get(one)) for one, cost in found.items() if expected.get(one) != cost]
    other = [(one, cost, found.get(one)) for one, cost in expected.items() if found.get(one) != cost]
    return "\n".join(f"{steps.system(one)} {costs}" for one, *costs in [*only, *other])


def test_no_state_with_any_number_of_faults_breaks_a_promise(flows: Flows) -> None:
    """The nearest of them, whatever fails, and Train stopped anywhere. `make explore` reaches all, in minutes."""
    found = Search(flows.endless(), most_states=MOST_STATES).run()
    assert not found.broken, as_text(*next(iter(found.broken.items())))
    assert found.states == MOST_STATES


def test_without_a_fault_each_state_can_reach_a_clean_end(flows: Flows) -> None:
    """Train stopped anywhere, with two teardowns at once."""
    found = Search(flows.endless(), most_states=MOST_STATES, faults=False).run()
    assert not found.broken, as_text(*next(iter(found.broken.items())))
    assert found.complete and found.states > 100


@pytest.mark.parametrize(
    ("state", "change", "promise"),
    [
        ("Holds work?", {"Default": "Delete file system"}, "is not whole in S3"),
        ("Anything left?", {"Choices": [], "Default": "Nothing left to do"}, "no clean end can be reached"),
    ],
)
def test_a_broken_flow_is_noticed_without_a_fault(
    flows: Flows, state: str, change: dict[str, Any], promise: str
) -> None:
    broken = copy.deepcopy(flows.definitions)
    broken["Teardown"]["States"][state].update(change)
    found = Search(flows._replace(definitions=broken).endless(), most_states=100_000, faults=False).run()
    assert any(promise in one for one in found.broken), found
    assert "Accept job" in as_text(*next(iter(found.broken.items())))


@pytest.mark.parametrize(("at_last", "is_clean"), [("Cannot be proven", True), ("Export to S3", False)])
def test_a_teardown_whose_proofs_are_not_counted_still_ends(flows: Flows, at_last: str, is_clean: bool) -> None:
    """A checkpoint on a lost file system cannot be verified. A teardown that never gives up is noticed."""
    changed = copy.deepcopy(flows.definitions)
    changed["Teardown"]["States"]["All in S3?"]["Default"] = at_last
    model = flows._replace(definitions=changed).endless()
    found = Search(model, most_states=100_000, faults=False, begin=_lost(model)).run()
    assert found.complete
    assert (not found.broken) is is_clean, found


def _lost(model: Model) -> System:
    """Train was stopped after a save, and the file system is lost."""
    aws = next(
        one
        for one in (system.aws for system in _from_all_stages(model))
        if one.train and one.file_systems and one.file_systems[0].saved
    )
    lost = aws.file_systems[0]._replace(lifecycle="FAILED")
    return System(None, aws=aws._replace(file_systems=(lost,), trainings=(), exports=(), child=None))
