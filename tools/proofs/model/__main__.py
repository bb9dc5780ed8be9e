"""`make explore`: every schedule with a few faults, then every state with any number of them."""

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from rich.console import Console

from tools.figures import Figure, publish
from tools.proofs.model.explore import Explored, Explorer
from tools.proofs.model.flows import Flows, synthesized
from tools.proofs.model.search import Search
from tools.proofs.model.trace import as_text

MOST_FAULTS = 3
MOST_STATES = 5_000_000


def main() -> int:
    parser = argparse.ArgumentParser(prog="make explore", description=__doc__)
    parser.add_argument("--faults", type=int, default=MOST_FAULTS, help="the most faults of a schedule")
    parser.add_argument("--states", type=int, default=MOST_STATES, help="the most states of the search; 0: no search")
    chosen = parser.parse_args()
    console = Console()
    console.print("Synthesizing the stacks ...")
    flows = synthesized()
    figures, broken = schedules(console, flows, most=chosen.faults)
    complete = True
    if chosen.states:
        more, worse, complete = states(console, flows, most=chosen.states)
        figures, broken = figures + more, broken | worse
    figures.append(Figure("broken promises", len(broken), "promises", "none", not broken))
    publish(console, "explore", figures)
    for promise, path in broken.items():
        print(as_text(promise, path))
    return bool(broken) or not complete


def schedules(console: Console, flows: Flows, *, most: int) -> tuple[list[Figure], dict[str, list[str]]]:
    """In two processes, for the schedules with and without a stop of Train: after its end these share no place."""
    figures: list[Figure] = []
    broken: dict[str, list[str]] = {}
    for faults in range(most + 1):
        console.print(f"All schedules of at most {faults} faults, with StopExecution before every state ...")
        began = time.monotonic()
        with ProcessPoolExecutor(2) as processes:
            parts = list(processes.map(partial(_explored, flows, faults), (True, False)))
        seconds = time.monotonic() - began
        for part in parts:
            broken |= part.broken
        figures += [
            Figure(f"schedules of at most {faults} faults", sum(part.schedules for part in parts), "schedules"),
            Figure(f"places on them, {faults} faults", sum(part.places for part in parts), "places"),
            Figure(f"seconds for {faults} faults", round(seconds, 1), "s"),
        ]
    return figures, broken


def _explored(flows: Flows, faults: int, stopped: bool) -> Explored:
    return Explorer(flows.exact(), faults=faults, stopped=stopped).result


def states(console: Console, flows: Flows, *, most: int) -> tuple[list[Figure], dict[str, list[str]], bool]:
    console.print("Every state with any number of faults, stops and teardowns ...")
    began, worked = time.monotonic(), time.process_time()
    search = Search(
        flows.endless(),
        most_states=most,
        progress=lambda found, ahead: console.print(f"  {found:,} states, {ahead:,} of them not expanded yet"),
    )
    reached = search.run()
    figures = [
        Figure("states reached", reached.states, "states", "complete", reached.complete),
        Figure("steps between them", reached.transitions, "steps"),
        Figure("seconds for the states", round(time.monotonic() - began, 1), "s"),
        Figure("of these, processor time", round(time.process_time() - worked, 1), "s"),
    ]
    return figures, reached.broken, reached.complete


if __name__ == "__main__":
    sys.exit(main())
