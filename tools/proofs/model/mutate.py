"""`make mutate`: mutation testing of the state machines: does a check notice each planted defect?

First come the rules that tests/synth applies to the flows. What survives runs once without faults: another end, or
another number of steps, kills it. Then come all schedules of at most one fault, computed once for the real flows.
A mutant differs only where its changed state is entered, so it is run from each place where a schedule entered that
state, with the faults that were left, and all that follows is compared. It is killed by a broken promise or by another
outcome: how each execution ends, the certificate, what is left and its tags. What survives runs again with two faults;
what survives that too is a hole in the tests, unless it has a reason in `equivalent.tsv`.
"""

import argparse
import multiprocessing
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console

from tools.definitions import rules
from tools.definitions.asl import scopes
from tools.figures import Figure, publish
from tools.proofs.model import mutants, schedules
from tools.proofs.model.execution import Frame
from tools.proofs.model.explore import Explorer, Place, PromiseBroken
from tools.proofs.model.flows import Flows, synthesized
from tools.proofs.model.interpreter import SILENT, EndlessLoop
from tools.proofs.model.jsonata import Unsupported
from tools.proofs.model.mutants import Mutant

ENOUGH = 0.97
# A mutant counts as a survivor after so many places with the same outcome, or after so many seconds.
MOST_PLACES = 150
MOST_SECONDS = 20.0
EQUIVALENT = Path(__file__).parent / "equivalent.tsv"


class Baseline:
    """The flows as they are, and the places in which each of their states was entered."""

    def __init__(self, flows: Flows, *, faults: int) -> None:
        self.flows = flows
        self.faults = faults
        self.explorer = Explorer(flows.exact(pruned=False), faults=faults, keep=True)
        assert not self.explorer.result.broken, self.explorer.result.broken
        self.without_faults = schedules.without_faults(flows.exact(pruned=False))
        self._entered: dict[tuple[str, str], list[Place]] = defaultdict(list)
        for place in self.explorer.kept or ():
            system = place[0]
            acting = [("Train", system.train)] if system.train else []
            for machine, frame in [*acting, *(("Teardown", one.frame) for one in system.teardowns)]:
                for name in _states_of(frame):
                    self._entered[machine, name].append(place)

    def _places(self, machine: str, states: set[str]) -> list[Place]:
        """Those with the fewest faults left come first: their walks are short."""
        places = [place for name in states for place in self._entered[machine, name]]
        return sorted(places, key=lambda place: place[1])

    def killed_by(self, mutant: Mutant) -> str:
        changed = self.flows._replace(definitions=self.flows.definitions | {mutant.machine: mutant.definition})
        try:
            end, steps = schedules.without_faults(changed.exact(pruned=False))
            if end == self.without_faults[0] and steps != self.without_faults[1]:
                return "a run without faults takes another number of steps"
            return self._killed_by_schedule(
                mutant, Explorer(changed.exact(pruned=False), faults=self.faults, first=True)
            )
        except PromiseBroken:
            return "a broken promise"
        except (Unsupported, AssertionError, KeyError, TypeError, AttributeError, StopIteration) as error:
            return f"it cannot run ({type(error).__name__})"
        except EndlessLoop:
            return "an endless loop"

    def _killed_by_schedule(self, mutant: Mutant, other: Explorer) -> str:
        tried, ends_at = 0, time.process_time() + MOST_SECONDS
        before = states_before(self.flows.definitions[mutant.machine], mutant.state)
        for place in self._places(mutant.machine, before):
            if other.steps(place) == self.explorer.steps(place):
                continue
            if other.walk(place) != self.explorer.walk(place):
                return "another outcome"
            tried += 1
            if tried == MOST_PLACES or time.process_time() > ends_at:
                break
        return "survived, though it differs" if tried else "survived"


def states_before(definition: dict[str, Any], state: str) -> set[str]:
    """The states in which an execution may be before it enters this one: this one, or those before silent states."""
    scope = next(one for one in scopes(definition) if state in one.states)
    # The first state of a branch or of an item is entered by the state that holds it.
    found, ahead = {state, *scope.holders}, [state]
    while ahead:
        name = ahead.pop()
        if scope.states[name]["Type"] not in SILENT:
            continue
        new = {arrow.source for arrow in scope.arrows() if arrow.target == name} - found
        found |= new
        ahead += new
    return found


def _states_of(frame: Any) -> Iterator[str]:
    if isinstance(frame, Frame):
        yield frame.state
        for inner in frame.inner:
            yield from _states_of(inner)


class Score(NamedTuple):
    """`holes`: survivors without a reviewed reason. `outdated`: reviewed ones that were killed or do not exist."""

    by: Counter[str]
    equivalent: list[str]
    holes: list[str]
    outdated: list[str]

    @property
    def value(self) -> float:
        killed = sum(self.by.values())
        return killed / (killed + len(self.holes)) if killed else 0.0


def scored(verdicts: dict[str, str], reviewed: dict[str, str]) -> Score:
    alive = {name: killed_by for name, killed_by in verdicts.items() if killed_by.startswith("survived")}
    by = Counter(killed_by for name, killed_by in verdicts.items() if name not in alive)
    holes = [f"{name} ({killed_by})" for name, killed_by in alive.items() if name not in reviewed]
    return Score(by, [name for name in alive if name in reviewed], holes, sorted(reviewed.keys() - alive.keys()))


def reviewed() -> dict[str, str]:
    """Each equivalent mutant, with the reason."""
    lines = EQUIVALENT.read_text().splitlines()
    return dict(line.split("\t", 1) for line in lines if line and not line.startswith("#"))


def broken_rule(mutant: Mutant) -> str:
    return "a rule of the flows" if rules.first_broken(mutant.definition) else "survived"


# Set before the processes are forked, so that its baseline is computed once.
_check: Callable[[Mutant], str] = broken_rule


def _checked(mutant: Mutant) -> tuple[str, str]:
    return mutant.name, _check(mutant)


def run_check(console: Console, check: Callable[[Mutant], str], chosen: list[Mutant]) -> dict[str, str]:
    global _check
    _check = check
    found: dict[str, str] = {}
    with multiprocessing.get_context("fork").Pool(2) as processes:
        for name, killed_by in processes.imap_unordered(_checked, chosen):
            found[name] = killed_by
            if len(found) % 25 == 0 or len(found) == len(chosen):
                alive = sum(killed_by.startswith("survived") for killed_by in found.values())
                console.print(f"  {len(found)} of {len(chosen)} mutants, {alive} survived")
    return found


def checks(console: Console, flows: Flows, most_faults: int) -> Iterator[Callable[[Mutant], str]]:
    """The cheap one first; each gets what survived those before it."""
    console.print("The rules for both flows ...")
    yield broken_rule
    for faults in range(1, most_faults + 1):
        console.print(f"All schedules of at most {faults} faults, for each mutant ...")
        yield Baseline(flows, faults=faults).killed_by


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="make mutate", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--faults", type=int, default=2, help="the most faults of a schedule for what survives one")
    most_faults = parser.parse_args().faults
    console = Console()
    console.print("Synthesizing the stacks ...")
    flows = synthesized()
    chosen = list(mutants.of(flows.definitions))
    found: dict[str, str] = {}
    began = time.monotonic()
    for check in checks(console, flows, most_faults):
        ahead = [one for one in chosen if found.get(one.name, "survived").startswith("survived")]
        found |= run_check(console, check, ahead)
    reasons = reviewed()
    score = scored(found, reasons)
    figures = [Figure(f"killed: {killed_by}", count, "mutants") for killed_by, count in score.by.most_common()]
    figures += [
        Figure("mutants", len(chosen), "mutants"),
        Figure("survivors that are equivalent, reviewed", len(score.equivalent), "mutants"),
        Figure("survivors without a reason", len(score.holes), "mutants", "none", not score.holes),
        Figure("score", round(100 * score.value, 1), "%", f"at least {ENOUGH:.0%}", score.value >= ENOUGH),
        Figure("reviewed, but killed", len(score.outdated), "mutants", "none", not score.outdated),
        Figure("seconds", round(time.monotonic() - began, 1), "s"),
    ]
    publish(console, "mutate", figures)
    for name in score.equivalent:
        console.print(f"equivalent: {name}: {reasons[name]}", markup=False)
    for name in score.holes:
        console.print(f"survived: {name}", markup=False)
    for name in score.outdated:
        console.print(f"killed, or not a mutant any more; remove it from {EQUIVALENT.name}: {name}", markup=False)
    return score.value < ENOUGH or bool(score.holes or score.outdated)


if __name__ == "__main__":
    sys.exit(main())
