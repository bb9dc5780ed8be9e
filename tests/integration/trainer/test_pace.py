"""A training that makes no step is ended, by its own pace or by the job's limit; one that fails in one place too."""

from pathlib import Path
from typing import Any

import pytest
from _belay_hook import pace_file
from _belay_hook.pace_file import PaceFile

from belay.contract import exit_codes
from belay.contract.events import AnyEvent, Failed, Resumed, Saved, Stopping
from containers.trainer.entry.progress import Reached, same_place
from containers.trainer.supervision.pace import Pace

from .conftest import RUN, Scratch

MINUTE, HOUR = 60.0, 3600.0


class Training:
    """Trainers that note what they do, and a clock that is handed in."""

    def __init__(self, folder: Path, limit_seconds: float | None = None) -> None:
        self.now = 1000.0
        self.folder = folder
        self.pace = Pace(folder, limit_seconds, clock=lambda: self.now)

    def trainer(self, process: int, *, dumps: bool = True) -> PaceFile:
        return PaceFile(self.folder / str(process), dumps=dumps)

    def after(self, seconds: float, *processes: int) -> float | None:
        """How long one of these has hung, looking once more after so many seconds."""
        self.now += seconds
        hang = self.pace.hang(processes or (1,))
        return hang.silent_seconds if hang else None


@pytest.fixture
def training(tmp_path: Path) -> Training:
    return Training(tmp_path)


@pytest.mark.parametrize(("phase", "most"), [("begin", HOUR), ("resume", 6 * HOUR), ("save", 6 * HOUR), ("step", HOUR)])
def test_what_a_training_does_says_how_long_it_may_take(training: Training, phase: Any, most: float) -> None:
    training.trainer(1).write(phase, 0)
    assert training.after(0) is None
    assert training.after(most) is None
    assert training.after(1) == most + 1


def test_between_steps_it_has_twenty_times_its_longest_and_half_an_hour_at_least(training: Training) -> None:
    trainer = training.trainer(1)
    for step in range(3):
        trainer.write("step", step)
        assert training.after(10) is None
    assert training.after(30 * MINUTE) is None
    assert training.after(1) == 30 * MINUTE + 1


def test_what_took_longest_so_far_may_come_again(training: Training) -> None:
    """As an evaluation of five minutes after each epoch."""
    trainer = training.trainer(1)
    for step in range(2):
        trainer.write("step", step)
        assert training.after(5 * MINUTE * step) is None
    trainer.write("step", 2)
    assert training.after(0) is None
    assert training.after(100 * MINUTE) is None
    assert training.after(1) is not None


def test_how_long_a_save_took_makes_no_step_longer(training: Training) -> None:
    trainer = training.trainer(1)
    for phase, seconds in (("step", 10), ("step", 10), ("save", 5 * HOUR), ("step", 0)):
        trainer.write(phase, 1)  # type: ignore[arg-type]
        assert (training.after(0), training.after(seconds)) == (None, None)
    assert training.after(30 * MINUTE) is None
    assert training.after(1) is not None


def test_the_same_step_noted_again_is_a_sign_of_life(training: Training) -> None:
    """As by each batch of an evaluation."""
    trainer = training.trainer(1)
    for _ in range(5):
        trainer.write("step", 7)
        assert training.after(20 * MINUTE) is None


def test_one_trainer_that_stands_is_enough_and_only_those_that_live_count(tmp_path: Path) -> None:
    training = Training(tmp_path, limit_seconds=60)
    first, second = training.trainer(1), training.trainer(2, dumps=False)
    first.write("step", 1)
    second.write("step", 1)
    assert training.after(0, 1, 2) is None
    first.write("step", 2)
    assert training.after(59, 1, 2) is None
    assert training.after(2, 1) is None
    hang = training.pace.hang([1, 2])
    assert hang and (hang.silent_seconds, hang.dumping) == (61, [1])


def test_a_script_that_goes_on_after_its_training_does_not_hang(training: Training) -> None:
    trainer = training.trainer(1)
    trainer.write("step", 1)
    assert training.pace.in_training([1, 2]) == [1]
    trainer.write("ended", 9)
    assert training.after(0) is None
    assert training.after(99 * HOUR) is None
    assert training.pace.in_training([1, 2]) == []
    assert training.pace.last_step() == 9


def test_without_a_trainer_there_is_no_pace_and_no_step(training: Training) -> None:
    assert training.after(99 * HOUR) is None
    assert training.pace.last_step() is None


def test_a_note_that_cannot_be_written_ends_no_training(tmp_path: Path) -> None:
    trainer = PaceFile(tmp_path / "1", dumps=True)
    trainer.write("save", 12)
    assert pace_file.read(tmp_path / "1") == ("save", 12, True, (tmp_path / "1").stat().st_mtime_ns)
    trainer._file = -1
    trainer.write("step", 13)


def _attempt(number: int, *, resumed: int, saved: list[int], last: int | None, stopped: bool = False) -> list[AnyEvent]:
    about: dict[str, Any] = {"run": RUN, "attempt": number}
    whole: dict[str, Any] = {"path": "p", "files": 1, "bytes": 1, "stall_seconds": 0, "durable_seconds": 0}
    return [
        *([Resumed(**about, step=resumed, source="s")] if resumed else []),
        *(Saved(**about, step=step, **whole, manifest_crc64nvme="x") for step in saved),
        *([Stopping(**about, signal="SIGTERM", deadline_seconds=100)] if stopped else []),
        Failed(**about, exit_code=1, reason="boom", step=last),
    ]


FIRST = _attempt(1, resumed=0, saved=[5, 10], last=13)
SECOND = _attempt(2, resumed=10, saved=[], last=13)
THIRD: list[AnyEvent] = [Resumed(run=RUN, attempt=3, step=10, source="s")]


@pytest.mark.parametrize(
    ("events", "step", "where"),
    [
        (FIRST + SECOND + THIRD, 13, Reached(10, 13)),
        (FIRST + SECOND + THIRD, 12, None),
        (FIRST + _attempt(2, resumed=10, saved=[12], last=13) + THIRD, 13, None),
        (FIRST + _attempt(2, resumed=10, saved=[], last=13, stopped=True) + THIRD, 13, None),
        (FIRST + _attempt(2, resumed=10, saved=[], last=None) + THIRD, 13, None),
        (FIRST + SECOND[:-1] + THIRD, 13, None),
    ],
    ids=["one place", "another step", "a checkpoint between", "a stop", "no step on record", "an end not on record"],
)
def test_three_failures_in_one_place_are_no_progress(events: list[AnyEvent], step: int, where: Reached | None) -> None:
    assert same_place(events, attempt=3, step=step) == where


def test_a_training_that_hangs_is_ended_with_its_stacks_in_the_log(scratch: Scratch) -> None:
    (scratch.data / "hangs.py").write_text(HANGS)
    scratch.plan({"command": ["hangs.py"]}, limits={"hang": "6s"})
    task = scratch.start(BELAY_STOP_SECONDS="3")
    assert task.wait() == exit_codes.HUNG, task.output
    last = task.events[-1]
    assert isinstance(last, Failed) and "training hung: it made no step for" in last.reason
    assert any(isinstance(event, Stopping) and "stacks" in (event.why or "") for event in task.events)
    assert "most recent call first" in task.output and "in stands_here" in task.output


def test_a_trainer_that_fails_at_one_step_three_times_is_not_tried_again(scratch: Scratch) -> None:
    (scratch.data / "fails.py").write_text(
        HANGS.replace("stands_here()\n\n\ndef", "raise ValueError('broken data')\n\n\ndef")
    )
    scratch.plan({"command": ["fails.py"]})
    assert [scratch.start().wait() for _ in range(3)] == [1, 1, exit_codes.NO_PROGRESS]
    last = scratch.attempts[-1].events[-1]
    assert isinstance(last, Failed) and last.step == 3
    assert last.reason == "ValueError: broken data (3 attempts failed at step 3, with no checkpoint after 0)"


def test_a_script_of_its_own_is_tried_as_often_as_the_job_says(scratch: Scratch) -> None:
    """Nobody knows how far it came: it may save and go on by itself."""
    (scratch.data / "fails.py").write_text("raise SystemExit(7)\n")
    scratch.plan({"command": ["fails.py"]})
    assert [scratch.start().wait() for _ in range(3)] == [7, 7, 7]


HANGS = """
import time

import torch
from transformers import Trainer, TrainerCallback, TrainingArguments


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(4))

    def forward(self, x, labels=None):
        return {"loss": (self.weight * x).sum()}


class Hang(TrainerCallback):
    def on_step_begin(self, args, state, control, **more):
        if state.global_step == 3:
            stands_here()


def stands_here():
    # As in a collective that never answers: no signal handler of Python runs.
    import ctypes
    while True:
        ctypes.PyDLL(None).sleep(600)  # A signal ends one.


arguments = TrainingArguments("/tmp/unused", max_steps=9, report_to="none", use_cpu=True, save_strategy="no")
data = [{"x": torch.ones(4)} for _ in range(16)]
Trainer(Model(), arguments, train_dataset=data, callbacks=[Hang()]).train()
"""
