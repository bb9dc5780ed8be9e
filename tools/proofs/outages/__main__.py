"""`make outages`: each service away for eight hours, as EC2's launches were in October 2025, at each phase of a run."""

import argparse
import json
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from rich.console import Console
from rich.table import Table

from belay.contract.verdict import Durability, Training
from tools.console import doing, run_command
from tools.figures import Figure, publish
from tools.local_cloud.faults import HoldsAt
from tools.local_runs.runs import Deployed, Run
from tools.proofs.chaos.__main__ import small_cloud
from tools.proofs.chaos.running import DATASET
from tools.proofs.outages.services import PHASES, SERVICES
from tools.repository import REPOSITORY

STATE = REPOSITORY / "build" / "outages"
_HOURS = 8.0
# An hour in 18 seconds.
_TIME_SCALE = 200.0
# How long a run may take afterwards to come to its end, in real seconds.
_MOST_SECONDS = 300.0
_STEP_SECONDS = 0.5


@dataclass(frozen=True)
class Row:
    """One service and one phase. `file_system_hours`: what a run that could not start had meanwhile."""

    service: str
    phase: str
    training: str
    durability: str
    left: int
    file_system_hours: float

    @property
    def holds(self) -> bool:
        return (self.training, self.durability, self.left) == (Training.COMPLETED, Durability.VERIFIED, 0)


def outages(console: Console) -> None:
    asked = _asked()
    shutil.rmtree(STATE, ignore_errors=True)
    rows: list[Row] = []
    with small_cloud(console, STATE, time_scale=_TIME_SCALE) as deployed:
        for service in asked.services or SERVICES:
            with doing(console, f"{service} away for {asked.hours:g} hours, runs in {len(PHASES)} phases"):
                found = list(_round(deployed, service, hours=asked.hours))
            rows += found
            for row in found:
                if not row.holds:
                    console.print(f"  [red]broken[/]: {row.phase}: {row.training}, {row.durability}, {row.left} left")
    _publish(console, rows, hours=asked.hours)


def _round(deployed: Deployed, service: str, *, hours: float) -> Iterator[Row]:
    """All phases at once: each run is held at its own until the service is away."""
    seconds = hours * 3600 / _TIME_SCALE
    runs = {phase: _started(deployed, f"{service}-{phase}", state, seconds) for phase, state in PHASES.items()}
    for phase, run in runs.items():
        _until_it_is_there(run, trains=PHASES[phase] is None)
    for fault in SERVICES[service]:
        deployed.cloud.inject(fault)
    for run in runs.values():
        deployed.cloud.clear_faults({"execution": run.arn})
    held = _wait_through(deployed, runs, seconds, sees_file_systems=service in ("EC2 launches", "S3"))
    deployed.cloud.clear_faults({})
    for phase, run in runs.items():
        _until(partial(_is_over, run), _MOST_SECONDS)
        certificate = run.certificate if f"{run.prefix}certificate.json" in run.keys else None
        yield Row(
            service=service,
            phase=phase,
            training=certificate.verdict.training if certificate else run.status,
            durability=certificate.verdict.durability if certificate else "no certificate",
            left=len(run.file_systems) + len(run.living_tasks),
            file_system_hours=held[phase] * _TIME_SCALE / 3600,
        )


def _started(deployed: Deployed, name: str, state: str | None, seconds: float) -> Run:
    name = name.lower().replace(" ", "-")
    steps = 6 if state else int(1.5 * seconds / _STEP_SECONDS)
    job = {
        "name": name,
        "dataset": {"s3": DATASET},
        "train": {
            "command": ["python", "data/small_training.py", f"--steps={steps}", f"--step-seconds={_STEP_SECONDS}"]
        },
        "resources": {"gpus": 0, "cpus": 1, "memory": "1GiB"},
        "checkpoint": {"every": "2 steps"},
        "limits": {"scratch": "2h", "link": "2h", "train": "20d"},
    }
    arn = deployed.train_arn.replace(":stateMachine:", ":execution:") + f":{name}"
    if state:
        deployed.cloud.inject(HoldsAt(state=state, where={"execution": arn}))
    started = deployed.states.start_execution(stateMachineArn=deployed.train_arn, name=name, input=json.dumps(job))
    return deployed.run_of(started["executionArn"], job)


def _until_it_is_there(run: Run, *, trains: bool) -> None:
    if trains:
        run.until_one_is_verified()
        return
    seen = -1
    while seen != len(run.states):
        seen = len(run.states)
        time.sleep(3)


def _wait_through(
    deployed: Deployed, runs: dict[str, Run], seconds: float, *, sees_file_systems: bool
) -> dict[str, float]:
    """How many real seconds each run that had not begun to train had a file system."""
    held = dict.fromkeys(runs, 0.0)
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        time.sleep(min(1.0, left))
        for phase, run in runs.items() if sees_file_systems else ():
            if PHASES[phase] not in (None, "Teardown"):
                held[phase] += bool(run.file_systems)
    return held


def _is_over(run: Run) -> bool:
    return (
        run.status != "RUNNING" and not run.file_systems and any(key.endswith("certificate.json") for key in run.keys)
    )


def _until(holds: Callable[[], bool], most_seconds: float) -> None:
    deadline = time.monotonic() + most_seconds
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.5)


def _publish(console: Console, rows: list[Row], *, hours: float) -> None:
    table = Table("away", *PHASES, title=f"runs that meet an outage of {hours:g} hours", title_justify="left")
    for service in dict.fromkeys(row.service for row in rows):
        table.add_row(service, *(_cell(row) for row in rows if row.service == service))
    console.print(table)
    hold = sum(row.holds for row in rows)
    waiting = [row.file_system_hours for row in rows if row.service == "EC2 launches"]
    figures = [
        Figure("services x phases", len(rows), "count"),
        Figure("trained, proven, and nothing left", hold, "count", "all of them", hold == len(rows)),
    ]
    if waiting:
        hours_paid = max(waiting)
        figures.append(
            Figure(
                "file system of a run that waits for EC2",
                round(hours_paid, 2),
                "hours",
                f"at most a quarter of {hours:g}",
                hours_paid <= hours / 4,
            )
        )
    publish(console, "outages", figures, {"hours away": f"{hours:g}"})


def _cell(row: Row) -> str:
    return f"{row.training}, {row.durability}" if row.holds else f"[red]{row.training}, {row.durability}, {row.left}[/]"


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make outages OPTIONS=...", description=__doc__)
    parser.add_argument("services", nargs="*", metavar="SERVICE", help=", ".join(SERVICES))
    parser.add_argument("--hours", type=float, default=_HOURS, help=f"how long it is away ({_HOURS:g})")
    return parser.parse_args()


if __name__ == "__main__":
    run_command(outages)
