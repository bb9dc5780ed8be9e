"""The comparison of checkpoints: that it still runs, and that it claims nothing which its noise does not allow."""

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.checkpoint.bars import of_loop, ratio
from benchmarks.checkpoint.measured import Measured, Value
from benchmarks.checkpoint.models import config_for
from benchmarks.checkpoint.options import parse
from benchmarks.checkpoint.watch import Save

REPOSITORY = Path(__file__).parent.parent.parent


def _measured(slowdown: float, spread: float = 0.0) -> Measured:
    value = Value(slowdown, spread)
    return Measured(0.01, Value(0.01, 0.0), value, value, value, 1.0, True, 1, 100, 100)


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


def test_two_values_have_no_spread_to_speak_of() -> None:
    assert Value.of([1.0, 2.0]).spread == math.inf
    assert Value.of([1.0, 2.0, 4.0]) == Value(2.0, 1.0)


def test_ours_is_held_to_the_best_of_all_peers_but_its_stall_to_those_made_for_it() -> None:
    seen = {
        "trainer": _measured(4.0),
        "overlapped": _measured(0.1),
        "dcp": _measured(2.0),
        "fork": replace(_measured(1.0), blocked=Value(0.001, 0.0)),
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
            "benchmarks.checkpoint",
            "--quick",
            "--only",
            "idle,restoring",
            "--ways",
            ",".join(ways),
        ],
        cwd=REPOSITORY,
        env={"PYTHONPATH": "containers/trainer/stallfree", "OMP_NUM_THREADS": "1", "PATH": ""},
        check=True,
        capture_output=True,
        timeout=300,
    )
    written = json.loads((REPOSITORY / "build/figures/checkpoint-quick.json").read_text())
    assert not [name for name in written["about"] if name.startswith("not measured")]
    figures = {one["name"]: one for one in written["figures"]}
    assert figures["idle: stallfree, overlapped: to durable"]["value"] > 0
    assert figures["idle: time to durable, against the write floor"]["bar"] == "at most 1.3"
    assert figures["restoring: against the read floor"]["bar"] == "at most 1.05"
    assert figures["idle: fork, then torch.save: slowdown"]["unit"] == "s"
