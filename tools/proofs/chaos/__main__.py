"""`make chaos`: runs the whole grid, or the cells whose names contain one of the given words."""

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

from tools.console import doing, run_command
from tools.figures import Figure, publish
from tools.local_cloud.cloud import LocalCloud
from tools.local_runs.runs import Deployed
from tools.proofs.chaos import page, picture, record
from tools.proofs.chaos.cells import Cell, of_state, of_training
from tools.proofs.chaos.machines import states_of
from tools.proofs.chaos.record import Row
from tools.proofs.chaos.running import run_cell, upload_training
from tools.repository import REPOSITORY

STATE = REPOSITORY / "build" / "chaos"
ROWS = REPOSITORY / "build" / "figures" / "chaos-rows.jsonl"
PICTURE = REPOSITORY / "docs" / "pictures" / "chaos.svg"
PAGE = REPOSITORY / "docs" / "chaos.md"
# With more, this machine would run little else than the schedules of pump and sweep.
TIME_SCALE = 100.0
# A training saves in milliseconds; what does not stop is killed after this.
_SHORTEST_STOP_SECONDS = 3.0
# The sweep's pause.
_HALF_AN_HOUR = 1800


@contextmanager
def small_cloud(console: Console, state: Path, *, time_scale: float = TIME_SCALE) -> Iterator[Deployed]:
    """Belay on a local cloud, with the small training in its bucket."""
    cloud = LocalCloud(state_dir=state, time_scale=time_scale, shortest_stop_seconds=_SHORTEST_STOP_SECONDS)
    with cloud:
        with doing(console, "Deploy Belay on a local cloud"):
            cloud.bootstrap()
            # More than the runs beside each other: none waits for another's instance.
            cloud.deploy(REPOSITORY, **{"belay:max_instances": "12"})
        deployed = Deployed(cloud)
        upload_training(deployed)
        _compress_the_sweeps_pauses(cloud, time_scale)
        yield deployed


def grid(deployed: Deployed) -> list[Cell]:
    """Every state of the deployed machines."""
    cells = list(of_training())
    for machine, arn in (("Train", deployed.train_arn), ("Teardown", deployed.teardown_arn)):
        definition = deployed.states.describe_state_machine(stateMachineArn=arn)["definition"]
        cells += [cell for state in states_of(definition) for cell in of_state(machine, state)]
    return cells


def chaos(console: Console) -> None:
    asked = _asked()
    if not (asked.more or asked.words):
        ROWS.unlink(missing_ok=True)
    shutil.rmtree(STATE, ignore_errors=True)
    started = time.monotonic()
    with small_cloud(console, STATE) as deployed:
        cells = grid(deployed)
        done = {(row.machine, row.state, row.fault) for row in record.read(ROWS)}
        named = [cell for cell in cells if not asked.words or any(word in cell.name for word in asked.words)]
        chosen = [cell for cell in named if not asked.more or (cell.machine, cell.state, cell.fault) not in done]
        # Shuffled with a fixed seed: a grid that was cut short has cells of every state.
        random.Random(0).shuffle(chosen)
        _run(console, deployed, chosen, asked, until=started + 60 * asked.minutes)
    rows = record.in_order(record.read(ROWS), cells)
    _publish(console, rows, cells=len(cells), minutes=(time.monotonic() - started) / 60)


def _run(console: Console, deployed: Deployed, cells: list[Cell], asked: argparse.Namespace, *, until: float) -> None:
    def one(number: int, cell: Cell) -> Row | None:
        if time.monotonic() >= until:
            return None
        return record.row_of(cell, run_cell(deployed, cell, number, most_seconds=asked.most_seconds))

    pool = ThreadPoolExecutor(asked.at_once)
    try:
        running = [pool.submit(one, number, cell) for number, cell in enumerate(cells)]
        for count, finished in enumerate(as_completed(running), 1):
            row = finished.result()
            if row:
                record.append(ROWS, row)
                console.print(_line(row, f"{count:>4}/{len(cells)}"), highlight=False)
    finally:
        # After Ctrl-C or an error, cells that have not begun are dropped.
        pool.shutdown(wait=False, cancel_futures=True)


def _line(row: Row, where: str) -> str:
    text = f"{row.machine}: {row.state}: {row.fault}: {row.training}, {row.checkpoints}, {row.file_system}"
    return f"{where}  {text} [{'green' if row.holds else 'red'}]{escape(row.mark)}[/] [dim]({row.seconds} s)[/]"


def _publish(console: Console, rows: list[Row], *, cells: int, minutes: float) -> None:
    PAGE.write_text(page.page(rows, cells=cells))
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    PICTURE.write_text(picture.picture(rows))
    reached = [row for row in rows if row.injected]
    hold = sum(row.holds for row in reached)
    figures = [
        Figure("cells in the grid", cells, "count"),
        Figure("cells run", len(rows), "count"),
        Figure("cells in which the fault was injected", len(reached), "count"),
        Figure("cells that hold", hold, "count", "all of these", hold == len(reached)),
        Figure("minutes of the last run", round(minutes, 1), "minutes"),
    ]
    publish(console, "chaos", figures)
    console.print(f"wrote {PAGE.relative_to(REPOSITORY)} and {PICTURE.relative_to(REPOSITORY)}")


def _compress_the_sweeps_pauses(cloud: LocalCloud, time_scale: float) -> None:
    """The sweep measures them by the wall clock, which the local cloud does not compress."""
    functions = cloud.client("lambda")
    variables = functions.get_function_configuration(FunctionName="belay-sweep")["Environment"]["Variables"]
    functions.update_function_configuration(
        FunctionName="belay-sweep",
        Environment={"Variables": {**variables, "BELAY_PAUSE_SECONDS": str(_HALF_AN_HOUR / time_scale)}},
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
