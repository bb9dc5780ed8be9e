"""`make mutate`: defects are planted in the state machines one by one; does anything notice each?

First it is put to the rules that tests/stacks holds the flows to. What survives runs once without faults: another end,
or another number of steps. Then come all schedules of at most one fault, worked out once for the flows as they are. A
mutant differs only where its changed state is entered: so it is tried from there, from each place where a schedule had
come to, with the faults that were left, and all that follows is compared. It is killed by a broken promise, or by
another outcome: how each execution ends, the certificate, what is left and what its tags say. What survives is tried
again with two faults; what survives that too is a hole, or has its reason in `equivalent.tsv`.
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

from benchmarks.figures import Figure, publish
from tests.model import deployed, mutants, schedules
from tests.model.deployed import Deployed
from tests.model.explore import Broken, Explorer, Place
from tests.model.interpreter import SILENT, GoesRound
from tests.model.jsonata import Unsupported
from tests.model.mutants import Mutant
from tests.model.standing import Frame
from tests.support import rules
from tests.support.asl import scopes

ENOUGH = 0.97
# A mutant that behaves alike from so many places where it differs is taken to be the same; and so is one that
# takes longer than this from the places that are left.
MOST_PLACES = 150
MOST_SECONDS = 20.0
EQUIVALENT = Path(__file__).parent / "equivalent.tsv"


class Golden:
    """The flows as they are, and where each of their states was entered."""

    def __init__(self, what: Deployed, *, faults: int) -> None:
        self.what = what
        self.faults = faults
        self.explorer = Explorer(what.exact(pruned=False), faults=faults, keep=True)
        assert not self.explorer.result.broken, self.explorer.result.broken
        self.ordinary = schedules.ordinary(what.exact(pruned=False))
        self._entered: dict[tuple[str, str], list[Place]] = defaultdict(list)
        for place in self.explorer.kept or ():
            system = place[0]
            acting = [("Train", system.train)] if system.train else []
            for machine, frame in [*acting, *(("Teardown", one.frame) for one in system.teardowns)]:
                for name in _standing_in(frame):
                    self._entered[machine, name].append(place)

    def _places(self, machine: str, states: set[str]) -> list[Place]:
        """Those with the fewest faults ahead come first: they are quickly walked through."""
        places = [place for name in states for place in self._entered[machine, name]]
        return sorted(places, key=lambda place: place[1])

    def killer(self, mutant: Mutant) -> str:
        changed = self.what._replace(definitions=self.what.definitions | {mutant.machine: mutant.definition})
        try:
            end, steps = schedules.ordinary(changed.exact(pruned=False))
            if end == self.ordinary[0] and steps != self.ordinary[1]:
                return "an ordinary run takes other steps"
            return self._killer(mutant, Explorer(changed.exact(pruned=False), faults=self.faults, first=True))
        except Broken:
            return "a broken promise"
        except (Unsupported, AssertionError, KeyError, TypeError, AttributeError, StopIteration) as error:
            return f"it cannot run ({type(error).__name__})"
        except GoesRound:
            return "it goes round for ever"

    def _killer(self, mutant: Mutant, other: Explorer) -> str:
        tried, ends_at = 0, time.process_time() + MOST_SECONDS
        before = asked_before(self.what.definitions[mutant.machine], mutant.state)
        for place in self._places(mutant.machine, before):
            if other.steps(place) == self.explorer.steps(place):
                continue
            if other.walk(place) != self.explorer.walk(place):
                return "another outcome"
            tried += 1
            if tried == MOST_PLACES or time.process_time() > ends_at:
                break
        return "nobody, though it differs" if tried else "nobody"


def asked_before(definition: dict[str, Any], state: str) -> set[str]:
    """Where an execution stands before this state is entered: in it, or, if it is silent, in the last that was not."""
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


def _standing_in(frame: Any) -> Iterator[str]:
    if isinstance(frame, Frame):
        yield frame.state
        for inner in frame.inner:
            yield from _standing_in(inner)


class Score(NamedTuple):
    """`holes`: who survived without a reviewed reason. `outdated`: who has one, and was killed, or is no mutant."""

    by: Counter[str]
    equivalent: list[str]
    holes: list[str]
    outdated: list[str]

    @property
    def value(self) -> float:
        killed = sum(self.by.values())
        return killed / (killed + len(self.holes)) if killed else 0.0


def scored(verdicts: dict[str, str], reviewed: dict[str, str]) -> Score:
    alive = {name: killer for name, killer in verdicts.items() if killer.startswith("nobody")}
    by = Counter(killer for name, killer in verdicts.items() if name not in alive)
    holes = [f"{name} ({killer})" for name, killer in alive.items() if name not in reviewed]
    return Score(by, [name for name in alive if name in reviewed], holes, sorted(reviewed.keys() - alive.keys()))


def reviewed() -> dict[str, str]:
    """Each mutant that cannot be told from the flow as it is, with the reason."""
    lines = EQUIVALENT.read_text().splitlines()
    return dict(line.split("\t", 1) for line in lines if line and not line.startswith("#"))


def broken_rule(mutant: Mutant) -> str:
    return "a rule of the flows" if rules.first_broken(mutant.definition) else "nobody"


# The processes are forked after this is set, so that what it needs is worked out once.
_judge: Callable[[Mutant], str] = broken_rule


def _judged(mutant: Mutant) -> tuple[str, str]:
    return mutant.name, _judge(mutant)


def tried(console: Console, judge: Callable[[Mutant], str], chosen: list[Mutant]) -> dict[str, str]:
    global _judge
    _judge = judge
    found: dict[str, str] = {}
    with multiprocessing.get_context("fork").Pool(2) as processes:
        for name, killer in processes.imap_unordered(_judged, chosen):
            found[name] = killer
            if len(found) % 25 == 0 or len(found) == len(chosen):
                alive = sum(killer.startswith("nobody") for killer in found.values())
                console.print(f"  {len(found)} of {len(chosen)} mutants, {alive} survived")
    return found


def judges(console: Console, what: Deployed, most_faults: int) -> Iterator[Callable[[Mutant], str]]:
    """The cheap one first: each is asked about what survived those before it."""
    console.print("The rules that both flows keep ...")
    yield broken_rule
    for faults in range(1, most_faults + 1):
        console.print(f"All schedules of at most {faults} faults, with each mutant in its place ...")
        yield Golden(what, faults=faults).killer


def main() -> int:
    parser = argparse.ArgumentParser(prog="make mutate")
    parser.add_argument("--faults", type=int, default=2, help="the most faults of a schedule for what survives one")
    most_faults = parser.parse_args().faults
    console = Console()
    console.print("Synthesizing the stacks ...")
    what = deployed.here()
    chosen = list(mutants.of(what.definitions))
    found: dict[str, str] = {}
    began = time.monotonic()
    for judge in judges(console, what, most_faults):
        ahead = [one for one in chosen if found.get(one.name, "nobody").startswith("nobody")]
        found |= tried(console, judge, ahead)
    reasons = reviewed()
    score = scored(found, reasons)
    figures = [Figure(f"killed: {killer}", count, "mutants") for killer, count in score.by.most_common()]
    figures += [
        Figure("mutants", len(chosen), "mutants"),
        Figure("survivors that are the same, reviewed", len(score.equivalent), "mutants"),
        Figure("survivors without a reason", len(score.holes), "mutants", "none", not score.holes),
        Figure("score", round(100 * score.value, 1), "%", f"at least {ENOUGH:.0%}", score.value >= ENOUGH),
        Figure("reviewed, but killed", len(score.outdated), "mutants", "none", not score.outdated),
        Figure("seconds", round(time.monotonic() - began, 1), "s"),
    ]
    publish(console, "mutate", figures)
    for name in score.equivalent:
        console.print(f"the same: {name}: {reasons[name]}", markup=False)
    for name in score.holes:
        console.print(f"survived: {name}", markup=False)
    for name in score.outdated:
        console.print(f"killed, or no mutant any more; take it out of {EQUIVALENT.name}: {name}", markup=False)
    return score.value < ENOUGH or bool(score.holes or score.outdated)


if __name__ == "__main__":
    sys.exit(main())
