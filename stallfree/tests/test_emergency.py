"""Asked to stop, with a deadline: wherever training is, it ends in time with the newest state that can be had."""

import hashlib
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from stallfree.cadence import EverySteps
from stallfree.callback import Stallfree
from stallfree.checkpoint import manifest
from stallfree.checkpoint.store import Store
from stallfree.checkpoint.timing import Timing
from stallfree.events import Event, StoppedAt
from stallfree.internals.trainer import write_checkpoint
from stallfree.saving.best import best_of
from stallfree.saving.overlapped import OverlappedSaver
from stallfree.saving.saver import PlainSaver
from transformers import Trainer, TrainerCallback
from watching import Stretched

LONG_SECONDS = 60.0


def ask_to_stop() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


class At(TrainerCallback):
    def __init__(self, event: str, step: int, action: Callable[[], None]) -> None:
        setattr(self, event, lambda args, state, control, **_: action() if state.global_step == step else None)


def asked_then_stuck() -> None:
    ask_to_stop()
    time.sleep(LONG_SECONDS)


def asked_inside_a_library() -> None:
    """No line of Python runs in this thread until the library is done, so no handler of Python's either."""
    threading.Timer(0.2, ask_to_stop).start()
    hashlib.pbkdf2_hmac("sha256", b"", b"", 100_000_000)


def steps_in(out: Path) -> list[int]:
    for checkpoint in out.glob("checkpoint-*"):
        manifest.verify(checkpoint)
    return sorted(int(checkpoint.name.removeprefix("checkpoint-")) for checkpoint in out.glob("checkpoint-*"))


def weights(trainer: Trainer) -> dict[str, torch.Tensor]:
    assert trainer.model is not None
    return {name: tensor.clone() for name, tensor in trainer.model.state_dict().items()}


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture
def stops(tmp_path: Path) -> Callable[[], list[StoppedAt]]:
    """What trainings of this test, in processes of their own, said when they stopped."""

    def read() -> list[StoppedAt]:
        file = tmp_path / "stops"
        return [eval(line) for line in file.read_text().splitlines()] if file.exists() else []

    return read


@pytest.fixture
def saves(tmp_path: Path) -> Callable[..., Stallfree]:
    def sink(event: Event) -> None:
        if isinstance(event, StoppedAt):
            with (tmp_path / "stops").open("a") as file:
                file.write(f"{event!r}\n")

    return lambda **settings: Stallfree(**{"deadline_seconds": 2.0, "sink": sink, **settings})


def exit_code_of(work: Callable[[], object]) -> tuple[int, float]:
    """Of a process that does the work, and how long it took."""
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        except SystemExit as left:
            code = int(left.code or 0)
        finally:
            sys.stdout.flush()
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), time.monotonic() - began


@pytest.mark.parametrize("stuck", [asked_then_stuck, asked_inside_a_library], ids=["in Python", "in a library"])
@pytest.mark.parametrize("place", ["on_step_begin", "on_prediction_step"], ids=["in a step", "in an evaluation"])
def test_stuck_when_it_is_asked_to_stop_it_leaves_in_time_with_what_stands_and_says_what_is_lost(
    place: str, stuck: Callable[[], None], make_trainer: Any, out: Path, saves: Any, stops: Any
) -> None:
    trainer = make_trainer(saves(cadence=EverySteps(5)), At(place, 7, stuck), eval_strategy="steps", eval_steps=7)
    code, seconds = exit_code_of(trainer.train)
    assert code == 143 and seconds < LONG_SECONDS / 2
    assert steps_in(out) == [5]
    assert [(stop.step, stop.saved_step, stop.lost_steps) for stop in stops()] == [(7, 5, 2)]
    assert stops()[0].seconds_left > 0


def test_stuck_in_the_very_first_step_there_is_nothing_to_save(
    make_trainer: Any, out: Path, saves: Any, stops: Any
) -> None:
    trainer = make_trainer(saves(), At("on_step_begin", 0, asked_then_stuck))
    assert exit_code_of(trainer.train)[0] == 143
    assert steps_in(out) == []
    assert [(stop.step, stop.saved_step, stop.lost_steps) for stop in stops()] == [(0, None, 0)]


class SlowLoader(torch.utils.data.Dataset[dict[str, torch.Tensor]]):
    """Draws from the random state that training draws from, and at one item comes to a stand."""

    def __init__(self, trainer: Trainer, *, step: int, stops: bool) -> None:
        self._trainer, self._step, self._asked = trainer, step, stops

    def __len__(self) -> int:
        return 48

    def __getitem__(self, number: int) -> dict[str, torch.Tensor]:
        torch.rand(3), random.random(), np.random.rand()
        if self._asked and self._trainer.state.global_step == self._step:
            asked_then_stuck()
        tokens = torch.randint(0, 32, (8,), generator=torch.Generator().manual_seed(number))
        return {"input_ids": tokens, "labels": tokens}


@pytest.mark.usefixtures("each_saver")
@pytest.mark.parametrize("step", [7, 12], ids=["within an epoch", "between two epochs"])
def test_waiting_for_data_when_it_is_asked_to_stop_it_saves_the_last_step_at_once_and_exactly(
    step: int, make_trainer: Any, out: Path, saves: Any, stops: Any
) -> None:
    def training(*callbacks: TrainerCallback, stops: bool = False) -> Trainer:
        # Python's own random state is seeded anew in every fork.
        trainer: Trainer = make_trainer(*callbacks, At("on_step_begin", 0, lambda: random.seed(0)))
        trainer.train_dataset = SlowLoader(trainer, step=step, stops=stops)
        return trainer

    by_itself = training(Stallfree(cadence=EverySteps(step)))
    by_itself.train()
    expected = (out / f"checkpoint-{step}" / "rng_state.pth").read_bytes()
    for checkpoint in steps_in(out):
        (out / f"checkpoint-{checkpoint}").rename(out / f"looked-at-{checkpoint}")

    # With no deadline either: nothing is gained by waiting.
    stopped = training(saves(deadline_seconds=None), stops=True)
    code, seconds = exit_code_of(stopped.train)
    assert code == 143 and seconds < LONG_SECONDS / 2
    assert steps_in(out) == [step] and stops()[0].lost_steps == 0
    assert (out / f"checkpoint-{step}" / "rng_state.pth").read_bytes() == expected


@pytest.mark.usefixtures("each_saver")
def test_asked_to_stop_during_a_save_even_several_times_it_is_not_disturbed(
    make_trainer: Any, out: Path, saves: Any, stops: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = Store.commit

    def asked_while_committing(*args: Any) -> Any:
        ask_to_stop()
        committed = commit(*args)
        ask_to_stop()
        return committed

    monkeypatch.setattr(Store, "commit", asked_while_committing)
    trainer = make_trainer(saves(cadence=EverySteps(5), deadline_seconds=LONG_SECONDS))
    assert exit_code_of(trainer.train)[0] == 143
    newest = steps_in(out)[-1]
    assert [(stop.step, stop.saved_step, stop.lost_steps) for stop in stops()] == [(newest, newest, 0)]
    assert list((out / ".staging").iterdir()) == []


def test_if_saves_take_longer_than_is_left_the_last_one_is_used_again(
    make_trainer: Any, out: Path, saves: Any, stops: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Stretched(monkeypatch, seconds=LONG_SECONDS)
    ways = saves(cadence=EverySteps(5), make_saver=partial(PlainSaver, clock=clock), deadline_seconds=LONG_SECONDS)
    trainer = make_trainer(ways, At("on_step_begin", 7, ask_to_stop))
    code, seconds = exit_code_of(trainer.train)
    assert code == 143 and steps_in(out) == [5]
    stop = stops()[0]
    assert (stop.step, stop.saved_step, stop.lost_steps) == (8, 5, 3)
    assert stop.seconds_left > LONG_SECONDS / 2 and seconds < LONG_SECONDS / 2, "it knew without trying"


def test_a_save_under_way_is_finished_if_there_is_no_time_for_another(
    make_trainer: Any, out: Path, saves: Any, stops: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Stretched(monkeypatch, seconds=LONG_SECONDS)
    commit = Store.commit

    def not_before_it_is_asked(store: Store, step: int, *args: Any) -> Any:
        if step == 10:
            has_been_told.wait(LONG_SECONDS)
            time.sleep(0.5)  # Training leaves its step meanwhile.
        return commit(store, step, *args)

    def release() -> None:
        has_been_told.set()
        ask_to_stop()

    has_been_told = threading.Event()
    monkeypatch.setattr(Store, "commit", not_before_it_is_asked)
    ways = saves(cadence=EverySteps(5), make_saver=partial(OverlappedSaver, clock=clock), deadline_seconds=LONG_SECONDS)
    trainer = make_trainer(ways, At("on_step_begin", 12, release))
    code, _ = exit_code_of(trainer.train)
    assert code == 143 and steps_in(out) == [5, 10]
    assert [(stop.step, stop.saved_step, stop.lost_steps) for stop in stops()] == [(13, 10, 3)]


def test_a_save_that_turns_out_too_slow_is_cut_off_at_the_deadline_and_does_no_harm(
    make_trainer: Any, out: Path, saves: Any, stops: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = Store.commit

    def slow_in_the_end(store: Store, step: int, *args: Any) -> Any:
        if step == 8:
            time.sleep(LONG_SECONDS)
        return commit(store, step, *args)

    monkeypatch.setattr(Store, "commit", slow_in_the_end)
    trainer = make_trainer(saves(cadence=EverySteps(5)), At("on_step_begin", 7, ask_to_stop))
    code, seconds = exit_code_of(trainer.train)
    assert code == 143 and seconds < LONG_SECONDS / 2
    assert steps_in(out) == [5] and stops()[0].lost_steps == 3


class Remembering(PlainSaver):
    """Stands for a saver that has each step in memory: it keeps the whole checkpoint of an earlier step at hand."""

    _remembered: int | None = None

    def after_update(self) -> None:
        if self._trainer.state.global_step == 6:
            self._staged = self._store.stage(6)
            write_checkpoint(self._trainer, self._trainers_own_save, self._store, into=self._store.staging)
            self._remembered = 6

    def snapshot_of_step(self) -> int | None:
        return self._remembered

    def commit_snapshot(self, seconds_left: float) -> int:
        assert self._remembered is not None and seconds_left > 0
        committed = self._store.commit(self._remembered, self._make_durable(self._staged))
        self._publisher.committed(
            committed, stall_seconds=0.0, durable_seconds=1.0, timing=Timing(), protected=best_of(self._trainer)
        )
        return committed.step


def test_stuck_within_a_step_the_newest_snapshot_in_memory_is_committed(
    make_trainer: Any, out: Path, saves: Any, stops: Any
) -> None:
    ways = saves(cadence=EverySteps(5), make_saver=Remembering)
    trainer = make_trainer(ways, At("on_step_begin", 7, asked_then_stuck))
    code, seconds = exit_code_of(trainer.train)
    assert code == 143 and seconds < LONG_SECONDS / 2
    assert steps_in(out) == [5, 6]
    assert [(stop.step, stop.saved_step, stop.lost_steps) for stop in stops()] == [(7, 6, 1)]


def test_a_fork_of_training_that_is_asked_to_stop_ends(make_trainer: Any, out: Path, saves: Any, stops: Any) -> None:
    ended: list[int] = []

    def fork_and_stop_it() -> None:
        child = os.fork()
        if child == 0:
            ask_to_stop()
            time.sleep(LONG_SECONDS)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        ended.append(os.waitstatus_to_exitcode(status))

    make_trainer(saves(cadence=EverySteps(20)), At("on_step_begin", 3, fork_and_stop_it)).train()
    assert ended == [-signal.SIGTERM]
    assert steps_in(out) == [20, 24] and stops() == [], "and training gets no signal"
