"""How long a person waits for the command line: for --help, and for the report of a run of 1,000,000 events.

`make bench-cli` writes the events.jsonl of such a run into build/, with a save every 500 steps and three restarts, and
renders its report in a process of its own, so that the memory measured is that of the report alone.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from rich.console import Console

from belay.contract.events import Finished, Resumed, Saved, Started, Step
from belay.goodput.measures import goodput_of
from belay.goodput.reading import events_in
from belay.goodput.timeline import timeline_of
from belay.report import page
from belay.report.record import Record
from belay.report.story import Story, collect
from tools.console import doing
from tools.figures import FOLDER, Figure, publish

_STEPS = 1_000_000
_SAVE_EVERY = 500
_RESTARTS_AT = (250_300, 500_300, 750_300)
_START = datetime(2026, 11, 21, 2, 44, 55, tzinfo=UTC)
_RUN = "20261121t024455z-3f9a2c1b"
_TIMES = 5


def measure_all(console: Console) -> None:
    file = FOLDER.parent / "a-million.jsonl"
    with doing(console, f"Write {_STEPS:,} events"):
        file.parent.mkdir(parents=True, exist_ok=True)
        _write(file)
    with doing(console, "Make the page"):
        command = [sys.executable, "-m", "tools.benchmarks.command_line", "--measure", str(file)]
        measured = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    file.unlink()
    help_seconds = sorted(_user_seconds("--help") for _ in range(_TIMES))[_TIMES // 2]
    publish(
        console,
        "cli",
        [
            Figure(
                "belay --help, user CPU", help_seconds, "s", "under 0.4 s", help_seconds < 0.4, f"median of {_TIMES}"
            ),
            Figure("report of 1,000,000 events, CPU", measured["cpu_seconds"], "s"),
            Figure("report of 1,000,000 events, memory", measured["mb"], "MB", remark="the process at its largest"),
            Figure("the page", measured["page_kb"], "kB"),
        ],
    )


def _user_seconds(*words: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run([sys.executable, "-m", "belay.cli.main", *words], capture_output=True, check=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def _write(file: Path) -> None:
    at, step, attempt = _START, 0, 1
    restarts = list(_RESTARTS_AT)
    with file.open("w") as out:
        out.write(Started(at=at, run=_RUN, attempt=1, job="million", processes=1).line() + "\n")
        while step < _STEPS:
            step, at = step + 1, at + timedelta(seconds=0.1)
            loss = 4 / (1 + step / 20_000) + (step % 97) / 500
            common = {"at": at, "run": _RUN, "attempt": attempt}
            out.write(Step(**common, step=step, total_steps=_STEPS, loss=loss, step_seconds=0.1).line() + "\n")  # type: ignore[arg-type]
            if step % _SAVE_EVERY == 0:
                out.write(_saved(at, attempt, step).line() + "\n")
            if restarts and step == restarts[0]:
                restarts.pop(0)
                attempt, step, at = attempt + 1, step // _SAVE_EVERY * _SAVE_EVERY, at + timedelta(minutes=9)
                out.write(Started(at=at, run=_RUN, attempt=attempt, job="million", processes=1).line() + "\n")
                at += timedelta(seconds=30)
                out.write(Resumed(at=at, run=_RUN, attempt=attempt, step=step, source="run/checkpoints").line() + "\n")
        out.write(Finished(at=at, run=_RUN, attempt=attempt, step=step).line() + "\n")


def _saved(at: datetime, attempt: int, step: int) -> Saved:
    return Saved(
        at=at,
        run=_RUN,
        attempt=attempt,
        step=step,
        path=f"run/checkpoints/checkpoint-{step}",
        files=9,
        bytes=10**9,
        stall_seconds=0.01 + step % 7 / 1000,
        durable_seconds=0.06,
        manifest_crc64nvme="AAAAAAAAAAA=",
    )


def _measure(file: Path) -> None:
    began = time.process_time()
    stories: list[Story] = []
    end = _START + timedelta(seconds=0.1 * (_STEPS + 900) + 3 * 570)
    with file.open("rb") as lines:

        def again() -> object:
            lines.seek(0)
            stories.append(Story())
            return collect(events_in(lines), stories[-1])

        timeline = timeline_of(again, [], begin=_START, end=end, is_over=True)  # type: ignore[arg-type]
    record = Record(
        run=_RUN,
        job="million",
        started_at=_START,
        ended_at=end,
        status="SUCCEEDED",
        certificate=None,
        plan=None,
        ledger=None,
        timeline=timeline,
        goodput=goodput_of(timeline, None),
        story=stories[-1],
    )
    html = page.render([record])
    file.with_suffix(".html").write_text(html)
    mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"cpu_seconds": time.process_time() - began, "mb": mb, "page_kb": len(html.encode()) / 1000}))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", type=Path, help="only render the report of these events, and print what it took")
    chosen = parser.parse_args()
    if chosen.measure:
        _measure(chosen.measure)
    else:
        measure_all(Console(width=120))
