"""Two threads write event lines: training its steps, the saver beside it its checkpoints."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from _belay_hook import lines as belay_lines
from _belay_hook.lines import EventLines


def kinds_and_numbers(lines: list[str]) -> list[tuple[str, int]]:
    return [(event["kind"], event["number"]) for event in map(json.loads, lines)]


def test_both_threads_lines_stand_in_one_order_in_the_log_and_on_the_mount(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "trainer.jsonl"
    lines = EventLines(run="r", node=0, attempt=1, job="tiny", file=file)
    on_mount, step_printed = threading.Event(), threading.Event()
    printed: list[str] = []

    def print_slowly(line: str) -> None:
        if '"saved"' in line:
            on_mount.set()
            # The other one has all the time it needs to come in between, if it can.
            step_printed.wait(0.3)
        printed.append(line)
        if '"step"' in line:
            step_printed.set()

    monkeypatch.setattr(belay_lines, "print_line", print_slowly)
    saver = threading.Thread(target=lines.write, args=["saved"], kwargs={"number": 1})
    saver.start()
    on_mount.wait()
    lines.write("step", number=2)
    saver.join()

    assert kinds_and_numbers(file.read_text().splitlines()) == kinds_and_numbers(printed) == [("saved", 1), ("step", 2)]


def test_an_event_has_a_line_of_its_own_behind_a_progress_bar_too() -> None:
    training = (
        "import sys; from _belay_hook.lines import print_line;"
        "sys.stderr.write('\\r 50%|'); sys.stderr.flush(); print_line('{}')"
    )
    words, together = [sys.executable, "-c", training], subprocess.STDOUT
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    output = subprocess.run(words, env=environment, stdout=subprocess.PIPE, stderr=together, check=True).stdout
    assert output.decode().splitlines()[-1] == "{}" and output.startswith(b"\r 50%|\n")
    apart = subprocess.run(words, env=environment, capture_output=True, check=True)
    assert apart.stdout == b"{}\n"


def test_only_lines_about_checkpoints_wait_for_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    synced: list[str] = []
    file = tmp_path / "trainer.jsonl"
    monkeypatch.setattr(
        os, "fsync", lambda handle: synced.append(kinds_and_numbers(file.read_text().splitlines())[-1][0])
    )
    lines = EventLines(run="r", node=0, attempt=1, job="tiny", file=file)
    for kind in ("step", "saved", "evaluated", "removed", "resumed"):
        lines.write(kind, number=1)
    assert synced == ["saved", "removed", "resumed"]
