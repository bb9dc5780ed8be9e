"""`make chaos`: the whole grid, or the cells whose names hold one of the words that are given."""

import argparse
import random
import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from benchmarks.chaos import page, picture, record
from benchmarks.chaos.cells import Cell, of_state, of_training
from benchmarks.chaos.machines import states_of
from benchmarks.chaos.record import Row
from benchmarks.chaos.running import DATASET, Site, try_out
from benchmarks.figures import Figure, publish
from client import deployment
from client.local.house import free_port
from client.local.telling import doing, run_command
from local_cloud.cloud import REPOSITORY, LocalCloud

STATE = REPOSITORY / "build" / "chaos"
ROWS = REPOSITORY / "build" / "figures" / "chaos-rows.jsonl"
PICTURE = REPOSITORY / "docs" / "pictures" / "chaos.svg"
PAGE = REPOSITORY / "docs" / "chaos.md"
# Faster, and the schedules of pump and sweep would be all that the machine does.
TIME_SCALE = 100.0
# A training saves in milliseconds; what does not stop is killed after this.
_SHORTEST_STOP_SECONDS = 3.0
# Half an hour of the sweep's, in compressed time.
_PAUSE_SECONDS = 1800 / TIME_SCALE
SCRIPT = Path(__file__).parent / "small_training.py"


@contextmanager
def site(console: Console, state: Path, *, most_seconds: float) -> Iterator[Site]:
    """A local cloud with Belay on it, and the small training in its bucket."""
    cloud = LocalCloud(
        state_dir=state, port=free_port(), time_scale=TIME_SCALE, shortest_stop_seconds=_SHORTEST_STOP_SECONDS
    )
    with cloud:
        with doing(console, "Deploy Belay on a local cloud"):
            cloud.bootstrap()
            cloud.deploy(REPOSITORY)
        deployed = deployment.find(cloud.client)
        cloud.client("s3").put_object(Bucket=deployed.bucket, Key=f"{DATASET}{SCRIPT.name}", Body=SCRIPT.read_bytes())
        _compress_the_sweeps_pauses(cloud)
        yield Site(cloud, deployed, most_seconds)


def grid(where: Site) -> list[Cell]:
    """Every state of the machines as they are deployed."""
    cells = list(of_training())
    states = where.cloud.client("stepfunctions")
    for machine, arn in (("Train", where.deployment.train_machine_arn), ("Teardown", where.teardown_arn)):
        definition = states.describe_state_machine(stateMachineArn=arn)["definition"]
        cells += [cell for state in states_of(definition) for cell in of_state(machine, state)]
    return cells


def chaos(console: Console) -> None:
    asked = _asked()
    if not (asked.more or asked.words):
        ROWS.unlink(missing_ok=True)
    shutil.rmtree(STATE, ignore_errors=True)
    started = time.monotonic()
    with site(console, STATE, most_seconds=asked.most_seconds) as where:
        cells = grid(where)
        done = {(row.machine, row.state, row.fault) for row in record.read(ROWS)}
        named = [cell for cell in cells if not asked.words or any(word in cell.name for word in asked.words)]
        chosen = [cell for cell in named if not asked.more or (cell.machine, cell.state, cell.fault) not in done]
        # Mixed, in the same way each time: a grid that was cut short has something of every state.
        random.Random(0).shuffle(chosen)
        _run(console, where, chosen, at_once=asked.at_once, until=started + 60 * asked.minutes)
    rows = record.in_order(record.read(ROWS), cells)
    _publish(console, rows, cells=len(cells), minutes=(time.monotonic() - started) / 60)


def _run(console: Console, where: Site, cells: list[Cell], *, at_once: int, until: float) -> None:
    def one(number: int, cell: Cell) -> Row | None:
        return record.row_of(cell, try_out(where, cell, number)) if time.monotonic() < until else None

    pool = ThreadPoolExecutor(at_once)
    try:
        running = [pool.submit(one, number, cell) for number, cell in enumerate(cells)]
        for count, finished in enumerate(as_completed(running), 1):
            row = finished.result()
            if row:
                record.append(ROWS, row)
                console.print(_line(row, f"{count:>4}/{len(cells)}"), highlight=False)
    finally:
        # After Ctrl-C, or an error of our own, what has not begun need not.
        pool.shutdown(wait=False, cancel_futures=True)


def _line(row: Row, where: str) -> str:
    told = f"{row.machine}: {row.state}: {row.fault}: {row.training}, {row.checkpoints}, {row.file_system}"
    return f"{where}  {told} [{'green' if row.holds else 'red'}]{escape(row.mark)}[/] [dim]({row.seconds} s)[/]"


def _publish(console: Console, rows: list[Row], *, cells: int, minutes: float) -> None:
    PAGE.write_text(page.page(rows, cells=cells))
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    PICTURE.write_text(picture.picture(rows))
    reached = [row for row in rows if row.struck]
    hold = sum(row.holds for row in reached)
    figures = [
        Figure("cells in the grid", cells, "count"),
        Figure("cells run", len(rows), "count"),
        Figure("cells in which the fault struck", len(reached), "count"),
        Figure("cells that hold", hold, "count", "all that were struck", hold == len(reached)),
        Figure("minutes of the last run", round(minutes, 1), "minutes"),
    ]
    publish(console, "chaos", figures)
    console.print(f"wrote {PAGE.relative_to(REPOSITORY)} and {PICTURE.relative_to(REPOSITORY)}")


def _compress_the_sweeps_pauses(cloud: LocalCloud) -> None:
    """They are told by the wall clock, which the local cloud does not compress."""
    functions = cloud.client("lambda")
    variables = functions.get_function_configuration(FunctionName="belay-sweep")["Environment"]["Variables"]
    functions.update_function_configuration(
        FunctionName="belay-sweep",
        Environment={"Variables": {**variables, "BELAY_PAUSE_SECONDS": str(_PAUSE_SECONDS)}},
    )


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make chaos OPTIONS=...", description=__doc__)
    parser.add_argument("words", nargs="*", help="run only cells whose 'machine: state: fault' holds one, (again)")
    parser.add_argument("--more", action="store_true", help="run only what has no row yet")
    parser.add_argument("--at-once", type=int, default=6, help="runs beside each other (6)")
    parser.add_argument("--most-seconds", type=float, default=90, help="what a run may take before it counts as stuck")
    parser.add_argument("--minutes", type=float, default=40, help="start no new cell after that (40)")
    return parser.parse_args()


if __name__ == "__main__":
    run_command(chaos)
