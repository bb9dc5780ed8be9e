"""The comparison of checkpoints: that it still runs, and that it claims nothing which its noise does not allow."""

import json
import math
import random
import statistics
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest
from rich.console import Console

from tools import figures
from tools.benchmarks.checkpoint import __main__ as main
from tools.benchmarks.checkpoint import checksums, cuda
from tools.benchmarks.checkpoint.bars import of_loop, ratio
from tools.benchmarks.checkpoint.measured import SavingCost, Value
from tools.benchmarks.checkpoint.models import config_for
from tools.benchmarks.checkpoint.options import Options, parse
from tools.benchmarks.checkpoint.progress import Progress
from tools.benchmarks.checkpoint.save_timer import Save, SaveTimer
from tools.figures import Figure

REPOSITORY = Path(__file__).parents[3]


def _measured(slowdown: float, error: float = 0.0) -> SavingCost:
    value = Value(slowdown, error)
    return SavingCost(
        first_blocked_seconds=0.01,
        blocked=Value(0.01),
        slowdown=value,
        durable=value,
        quiet_step=Value(0.5),
        first_step_seconds=1.0,
        saves=5,
        is_durable=True,
        bytes=100,
        peak_bytes=100,
    )


def test_a_slowdown_is_what_a_saves_steps_took_beyond_the_steps_around_them() -> None:
    save = Save(call_seconds=0.0, steps=[1.5, 1.1], quiet_before=[0.9, 1.0], quiet_after=[1.0, 5.0])
    assert save.slowdown_seconds == pytest.approx(2.6 - 2 * 1.0)


def test_a_bar_is_met_or_broken_only_by_more_than_the_noise() -> None:
    trainer = Value(4.0, 0.1)
    assert ratio("", Value(0.05, 0.01), trainer, 1 / 40).holds is True
    assert ratio("", Value(0.15, 0.01), trainer, 1 / 40).holds is False
    noisy = ratio("", Value(0.05, 0.08), trainer, 1 / 40)
    assert noisy.holds is None
    assert "too noisy" in noisy.remark


def test_two_values_do_not_tell_how_far_off_their_median_is() -> None:
    assert Value.of([1.0, 2.0]).error == math.inf


@pytest.mark.parametrize("count", [5, 20, 80])
def test_a_medians_error_is_how_far_medians_of_as_many_values_scatter(count: int) -> None:
    draw = random.Random(1)
    seen = [Value.of([draw.gauss(0.1, 0.03) for _ in range(count)]) for _ in range(600)]
    scatter = statistics.stdev(value.median for value in seen)
    assert statistics.mean(value.error for value in seen) == pytest.approx(scatter, rel=0.25)


def test_one_disturbed_save_of_ten_is_not_seen() -> None:
    calm = [0.10, 0.11, 0.12, 0.10, 0.11, 0.12, 0.10, 0.11, 0.12]
    disturbed = Value.of([*calm, 30.0])
    assert disturbed.median == pytest.approx(0.11, abs=0.006)
    assert disturbed.error < 0.01


def _watch_that_saw(slowdowns: list[float], *, saves: int, seconds: float) -> SaveTimer:
    timer = SaveTimer(saves=saves, seconds=seconds, quiet_steps=1, durable_at=lambda: None, forget=lambda: None)
    timer.saves = [Save(0.0, steps=[1.0 + slowdown], quiet_before=[1.0], quiet_after=[1.0]) for slowdown in slowdowns]
    return timer


def test_there_are_as_many_saves_as_it_takes_to_know_the_slowdown_but_not_for_ever() -> None:
    a_day = 86_400 * 1000.0
    known, noisy = [9.0, 0.100, 0.101, 0.100, 0.101], [9.0, 0.1, 0.3, -0.2, 0.4]
    assert _watch_that_saw(known, saves=5, seconds=a_day)._has_seen_enough()
    assert not _watch_that_saw(known, saves=6, seconds=a_day)._has_seen_enough()
    assert not _watch_that_saw(noisy, saves=5, seconds=a_day)._has_seen_enough()
    assert _watch_that_saw(noisy, saves=5, seconds=0.0)._has_seen_enough()


def test_checksums_cost_nothing_only_if_the_noise_is_small_enough_to_hide_little() -> None:
    durable = Value(1.0)
    assert checksums.bar("durable", Value(0.02, 0.02), durable).holds is True
    assert checksums.bar("durable", Value(0.09, 0.02), durable).holds is False
    assert checksums.bar("durable", Value(0.02, 0.3), durable).holds is None


def test_a_gpus_model_has_what_there_is_room_for() -> None:
    room, gb = 1e15, 1e9
    assert cuda.state_gb(room, room, room) == 6 * 8
    assert cuda.state_gb(80 * gb, room, room) == 6 * 5
    assert cuda.state_gb(room, 36 * gb, room) == 6 * 3
    assert cuda.state_gb(room, room, 48 * gb) == 6 * 2
    assert cuda.state_gb(0, room, room) == 6


def test_a_save_every_20_steps_on_a_gpu_is_held_to_a_fiftieth_of_a_step() -> None:
    stall, slower = cuda.bars(_measured(0.1, 0.01))
    assert stall.holds is False and slower.holds is True
    assert slower.value == pytest.approx(0.1 / (20 * 0.5))
    assert cuda.bars(_measured(0.3, 0.01))[1].holds is False
    assert cuda.bars(_measured(0.19, 0.01))[1].holds is None


def test_a_part_that_fails_takes_nothing_from_the_others(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def broken(progress: Progress, options: Options) -> NoReturn:
        raise RuntimeError("out of order")

    measured = [Figure("sizes: one", 1.0, "s")], dict[str, str]()
    monkeypatch.setattr(main, "_MEASURE", {"idle": broken, "sizes": lambda *_: measured})
    monkeypatch.setattr(main, "SCRATCH", tmp_path / "scratch")
    monkeypatch.setattr(figures, "FOLDER", tmp_path)
    assert not main.checkpoint(Console(quiet=True), parse(["--only", "sizes,idle"]))
    written = json.loads((tmp_path / "checkpoint-sizes-idle.json").read_text())
    assert [one["name"] for one in written["figures"]] == ["sizes: one"]
    assert "out of order" in written["about"]["not measured: idle"]


def test_ours_is_held_to_the_best_of_all_peers_but_its_stall_to_those_made_for_it() -> None:
    seen = {
        "trainer": _measured(4.0),
        "overlapped": _measured(0.1),
        "dcp": _measured(2.0),
        "fork": replace(_measured(1.0), blocked=Value(0.001)),
    }
    rows = {one.name: one.value for one in of_loop("idle", seen, None)}
    assert rows["idle: slowdown, against the best peer"] == pytest.approx(0.1 / 1.0)
    assert rows["idle: blocked, against the best peer"] == pytest.approx(1.0)


@pytest.mark.parametrize("state_gb", [0.1, 0.5, 1.5, 4.0])
def test_a_model_is_about_as_large_as_it_was_asked_to_be(state_gb: float) -> None:
    config = config_for(state_gb)
    parameters = (config.vocab_size + config.n_positions) * config.n_embd + 12 * config.n_layer * config.n_embd**2
    assert parameters * 12 / 1e9 == pytest.approx(state_gb, rel=0.15)


def test_an_unknown_part_is_named_with_those_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(["--only", "idle,idel"])
    assert "no such part: idel; there are idle, busy" in capsys.readouterr().err


def test_the_comparison_runs_from_end_to_end() -> None:
    """At a size that says nothing about speed; every kind of peer that needs no process or package of its own."""
    ways = ("none", "trainer", "overlapped", "dcp", "dcp-thread-best", "thread-best", "fork")
    subprocess.run(
        [
            sys.executable,
            "-m",
            "tools.benchmarks.checkpoint",
            "--quick",
            "--only",
            "idle,restoring",
            "--ways",
            ",".join(ways),
        ],
        cwd=REPOSITORY,
        env={"PYTHONPATH": "stallfree", "OMP_NUM_THREADS": "1", "PATH": ""},
        check=True,
        capture_output=True,
        timeout=300,
    )
    written = json.loads((REPOSITORY / "build/figures/checkpoint-quick-idle-restoring.json").read_text())
    assert not [name for name in written["about"] if name.startswith("not measured")]
    rows = {one["name"]: one for one in written["figures"]}
    assert rows["idle: stallfree, overlapped: to durable"]["value"] > 0
    assert rows["idle: time to durable, against the write floor"]["bar"] == "at most 1.3"
    assert rows["restoring: against the read floor"]["bar"] == "at most 1.05"
    assert rows["idle: fork, then torch.save: slowdown"]["unit"] == "s"
