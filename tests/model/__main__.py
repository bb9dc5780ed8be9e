"""`make explore`: every schedule with a few faults, then every state with any number of them."""

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from rich.console import Console

from benchmarks.figures import Figure, publish
from tests.model import deployed
from tests.model.deployed import Deployed
from tests.model.explore import Explored, Explorer
from tests.model.search import Search
from tests.model.trace import told

MOST_FAULTS = 3
MOST_STATES = 5_000_000


def main() -> int:
    parser = argparse.ArgumentParser(prog="make explore")
    parser.add_argument("--faults", type=int, default=MOST_FAULTS, help="the most faults of a schedule")
    parser.add_argument("--states", type=int, default=MOST_STATES, help="give up searching after so many; 0: no search")
    chosen = parser.parse_args()
    console = Console()
    console.print("Synthesizing the stacks ...")
    what = deployed.here()
    figures, broken = schedules(console, what, most=chosen.faults)
    complete = True
    if chosen.states:
        more, worse, complete = states(console, what, most=chosen.states)
        figures, broken = figures + more, broken | worse
    figures.append(Figure("broken promises", len(broken), "promises", "none", not broken))
    publish(console, "explore", figures)
    for promise, path in broken.items():
        print(told(promise, path))
    return bool(broken) or not complete


def schedules(console: Console, what: Deployed, *, most: int) -> tuple[list[Figure], dict[str, list[str]]]:
    """Two processes: with a stop of Train, and without, no two schedules come to the same place after its end."""
    figures: list[Figure] = []
    broken: dict[str, list[str]] = {}
    for faults in range(most + 1):
        console.print(f"All schedules of at most {faults} faults, with StopExecution before every state ...")
        began = time.monotonic()
        with ProcessPoolExecutor(2) as processes:
            parts = list(processes.map(partial(_explored, what, faults), (True, False)))
        seconds = time.monotonic() - began
        for part in parts:
            broken |= part.broken
        figures += [
            Figure(f"schedules of at most {faults} faults", sum(part.schedules for part in parts), "schedules"),
            Figure(f"places that they lead through, {faults} faults", sum(part.places for part in parts), "places"),
            Figure(f"seconds for {faults} faults", round(seconds, 1), "s"),
        ]
    return figures, broken


def _explored(what: Deployed, faults: int, stopped: bool) -> Explored:
    return Explorer(what.exact(), faults=faults, stopped=stopped).result


def states(console: Console, what: Deployed, *, most: int) -> tuple[list[Figure], dict[str, list[str]], bool]:
    console.print("Every state with any number of faults, stops and teardowns ...")
    began, worked = time.monotonic(), time.process_time()
    search = Search(
        what.endless(),
        most_states=most,
        progress=lambda found, ahead: console.print(f"  {found:,} states, {ahead:,} of them not yet looked at"),
    )
    reached = search.run()
    figures = [
        Figure("states reached", reached.states, "states", "all of them", reached.complete),
        Figure("steps between them", reached.transitions, "steps"),
        Figure("seconds for the states", round(time.monotonic() - began, 1), "s"),
        Figure("of them, of the processor", round(time.process_time() - worked, 1), "s"),
    ]
    return figures, reached.broken, reached.complete


if __name__ == "__main__":
    sys.exit(main())
