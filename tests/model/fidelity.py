"""`make fidelity`: the same schedules in the model and in the local cloud's interpreter; are there differences?

The model draws a schedule and writes down what every execution of it asked and heard. The local cloud's interpreter,
with its own JSONata, Retry, Catch, Map, Parallel and Wait, then runs the same definition and hears the same answers.
Compared are: which state asks, in which order, with which arguments, how often it asks again, and how it all ends.
"""

import json
import logging
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from rich.console import Console

from benchmarks.figures import Figure, publish
from tests.model import deployed
from tests.model.deployed import Deployed
from tests.model.player import Player
from tests.model.recorded import recorder

SCHEDULES = 500
MOST_FAULTS = 3


@dataclass
class Compared:
    """`differences`: what differed, with the story of the schedule."""

    schedules: int = 0
    executions: int = 0
    calls: int = 0
    differences: list[str] = field(default_factory=list)


def compare(what: Deployed, *, schedules: int, seed: int) -> Iterator[Compared]:
    """After each schedule what has come of all so far; each third schedule is stopped on its way."""
    draw, player, found = recorder(what.definitions, what.rescued, seed=seed), Player(what.definitions), Compared()
    for number in range(schedules):
        executions, story = draw.schedule(faults=number % (MOST_FAULTS + 1), stop=number % 3 == 2)
        found.schedules += 1
        for one in executions:
            found.executions += 1
            found.calls += sum(said.arguments is not None for said in one.said)
            difference = player.play(one)
            if difference:
                found.differences.append("\n".join([f"{one.machine} {one.name}: {difference}", *story]))
        yield found


def main() -> int:
    # The interpreter tells of each failing state, and its threads of each stop: both are what is played here.
    logging.disable(logging.ERROR)
    threading.excepthook = lambda told: None
    console = Console()
    console.print("Synthesizing the stacks ...")
    what = deployed.here()
    began, found = time.monotonic(), Compared()
    for found in compare(what, schedules=SCHEDULES, seed=int(sys.argv[1]) if sys.argv[1:] else 1):
        if found.schedules % 50 == 0:
            console.print(f"  {found.schedules} of {SCHEDULES} schedules, {len(found.differences)} differences")
    differ = len(found.differences)
    figures = [
        Figure("schedules", found.schedules, "schedules", "at least 400", found.schedules >= 400),
        Figure("executions", found.executions, "executions"),
        Figure("calls", found.calls, "calls"),
        Figure("differences", differ, "executions", "none", not differ),
        Figure("seconds", round(time.monotonic() - began, 1), "s"),
    ]
    publish(console, "fidelity", figures)
    for difference in found.differences[:10]:
        print(json.dumps(difference)[1:-1].replace("\\n", "\n"))
    return bool(differ)


if __name__ == "__main__":
    sys.exit(main())
