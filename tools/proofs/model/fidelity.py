"""`make fidelity`: compares random schedules in the model and in the local cloud's interpreter.

The model draws a schedule and records the calls of every execution with their answers. The local cloud's interpreter,
with its own JSONata, Retry, Catch, Map, Parallel and Wait, then runs the same definition with the same answers.
Compared are the calling states, their order and arguments, the retries, and how each execution ends.
"""

import argparse
import json
import logging
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from rich.console import Console

from tools.figures import Figure, publish
from tools.proofs.model.flows import Flows, synthesized
from tools.proofs.model.recording import recorder
from tools.proofs.model.replay import Replayer

SCHEDULES = 500
MOST_FAULTS = 3


@dataclass
class Compared:
    """`differences`: each with the steps of its schedule."""

    schedules: int = 0
    executions: int = 0
    calls: int = 0
    differences: list[str] = field(default_factory=list)


def compare(flows: Flows, *, schedules: int, seed: int) -> Iterator[Compared]:
    """The totals after each schedule; in every third schedule Train is stopped."""
    recorded, replayer = recorder(flows.definitions, flows.rescued, seed=seed), Replayer(flows.definitions)
    found = Compared()
    for number in range(schedules):
        executions, steps = recorded.schedule(faults=number % (MOST_FAULTS + 1), stop=number % 3 == 2)
        found.schedules += 1
        for one in executions:
            found.executions += 1
            found.calls += sum(answer.arguments is not None for answer in one.answers)
            difference = replayer.replay(one)
            if difference:
                found.differences.append("\n".join([f"{one.machine} {one.name}: {difference}", *steps]))
        yield found


def main() -> int:
    parser = argparse.ArgumentParser(prog="make fidelity", description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("seed", nargs="?", type=int, default=1, help="of the random schedules (1)")
    seed = parser.parse_args().seed
    # The interpreter logs each failing state, and its threads each stop: here both are on purpose.
    logging.disable(logging.ERROR)
    threading.excepthook = lambda _: None
    console = Console()
    console.print("Synthesizing the stacks ...")
    flows = synthesized()
    began, found = time.monotonic(), Compared()
    for found in compare(flows, schedules=SCHEDULES, seed=seed):
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
