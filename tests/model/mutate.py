"""`make mutate`: defects are planted in the state machines one by one; does the model notice each?

All schedules of at most two faults are worked out once, for the flows as they are. A mutant differs only where its
changed state is entered: so it is tried from there, from each place where a schedule had come to, with the faults
that were left, and all that follows is compared. It is killed by a broken promise, or by another outcome.
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from rich.console import Console

from benchmarks.figures import Figure, publish
from tests.model import deployed, mutants
from tests.model.deployed import Deployed
from tests.model.explore import Explorer, Place
from tests.model.interpreter import SILENT, Frame, GoesRound
from tests.model.jsonata import Unsupported
from tests.model.mutants import Mutant
from tests.support.asl import scopes

ENOUGH = 0.97
FAULTS = 2
# A mutant that behaves alike from so many places where it differs is taken to be the same.
MOST_PLACES = 150


class Golden:
    """The flows as they are, and where each of their states was entered."""

    def __init__(self, what: Deployed, *, faults: int = FAULTS) -> None:
        self.what = what
        self.faults = faults
        self.explorer = Explorer(what.exact(pruned=False), faults=faults, keep=True)
        assert not self.explorer.result.broken, self.explorer.result.broken
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
            return self._killer(mutant, Explorer(changed.exact(pruned=False), faults=self.faults))
        except (Unsupported, AssertionError, KeyError, TypeError, AttributeError, StopIteration) as error:
            return f"it cannot run ({type(error).__name__})"
        except GoesRound:
            return "it goes round for ever"

    def _killer(self, mutant: Mutant, other: Explorer) -> str:
        tried = 0
        before = asked_before(self.what.definitions[mutant.machine], mutant.state)
        for place in self._places(mutant.machine, before):
            if other.steps(place) == self.explorer.steps(place):
                continue
            if other.walk(place) != self.explorer.walk(place):
                return "a broken promise" if other.broken else "another outcome"
            tried += 1
            if tried == MOST_PLACES:
                break
        return "nobody, though it differs" if tried else "nobody"


def asked_before(definition: dict[str, Any], state: str) -> set[str]:
    """Where an execution stands before this state is entered: in it, or, if it is silent, in the last that was not."""
    scope = next(one for one in scopes(definition) if state in one.states)
    found, ahead = {state}, [state]
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


def verdicts(golden: Golden, chosen: Iterable[Mutant]) -> Iterator[tuple[Mutant, str]]:
    for mutant in chosen:
        yield mutant, golden.killer(mutant)


def main() -> int:
    console = Console()
    console.print("Synthesizing the stacks ...")
    what = deployed.here()
    console.print(f"All schedules of at most {FAULTS} faults, as the flows are ...")
    golden = Golden(what)
    chosen = list(mutants.of(what.definitions))
    by: Counter[str] = Counter()
    survivors = []
    for number, (mutant, killer) in enumerate(verdicts(golden, chosen), 1):
        by[killer] += 1
        if killer.startswith("nobody"):
            survivors.append(f"{mutant.name} ({killer})")
        if number % 25 == 0:
            console.print(f"  {number} of {len(chosen)} mutants, {len(survivors)} survived")
    score = 1 - len(survivors) / len(chosen)
    figures = [
        Figure(f"killed: {killer}", count, "mutants") for killer, count in by.most_common() if killer[:6] != "nobody"
    ]
    figures += [
        Figure("mutants", len(chosen), "mutants"),
        Figure("survivors", len(survivors), "mutants"),
        Figure("score", round(100 * score, 1), "%", f"at least {ENOUGH:.0%}", score >= ENOUGH),
    ]
    publish(console, "mutate", figures)
    for name in survivors:
        console.print(f"survived: {name}", markup=False)
    return score < ENOUGH


if __name__ == "__main__":
    sys.exit(main())
