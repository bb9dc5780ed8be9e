"""A process that dies, or whose disk fills, in the middle of a save; and one that is asked to stop."""

import errno
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from crash.faults import Failing, Fault, Killed, run_under
from small_training import (
    At,
    Weights,
    end_of,
    first_step,
    in_a_process,
    same,
    stallfree,
    trainer,
    uninterrupted,
    weights,
)
from stallfree.checkpoint import manifest
from stallfree.events import Event, PassedOver, Resumed
from stallfree.saving.saver import MakeSaver
from transformers import Trainer


@pytest.fixture(scope="module")
def end(tmp_path_factory: pytest.TempPathFactory) -> Weights:
    return uninterrupted(tmp_path_factory.mktemp("whole"))


def _disk_full_at(file: str) -> Callable[[], Fault]:
    return lambda: Failing(("write",), 0, errno.ENOSPC, for_good=True, file=f"*checkpoint-8/{file}")


FIRES: dict[str, Callable[[], Fault]] = {
    "killed before the model": lambda: Killed("write", "*checkpoint-8/*"),
    "killed in the optimizer": lambda: Killed("write", "*checkpoint-8/optimizer.pt"),
    "killed before the state": lambda: Killed("write", "*checkpoint-8/trainer_state.json"),
    "disk full": _disk_full_at("optimizer.pt"),
}
each_fire = pytest.mark.parametrize("fire", FIRES.values(), ids=FIRES)


@each_fire
def test_the_plain_trainer_crashes_on_what_a_broken_save_left(fire: Callable[[], Fault], tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run_under(fire(), in_a_process(lambda: trainer(out).train()), folder=out) != 0
    assert (out / "checkpoint-4").is_dir(), "an older and whole one is there"
    with pytest.raises(Exception):  # noqa: B017  # of many kinds: what matters is that it is not ours
        trainer(out).train(resume_from_checkpoint=True)


@each_fire
def test_ours_goes_on_exactly_from_the_last_save_that_was_whole(
    fire: Callable[[], Fault], each_saver: MakeSaver, tmp_path: Path, end: Weights
) -> None:
    out = tmp_path / "out"
    assert run_under(fire(), in_a_process(lambda: trainer(out, stallfree()).train()), folder=out) != 0
    events: list[Event] = []
    resumed = trainer(out, stallfree(events))
    resumed.train(resume_from_checkpoint=True)
    assert events[0] == Resumed(4, str(out / "checkpoint-4")), "nothing broken ever stood there"
    assert same(weights(resumed), end)


def _back_to_step_4_and_killed_in_the_save_of_step_8(make: Callable[[], Trainer], out: Path) -> None:
    def go_back() -> None:
        make().train(resume_from_checkpoint=str(out / "checkpoint-4"))

    ended = run_under(Killed("write", "*checkpoint-8/optimizer.pt"), in_a_process(go_back), folder=out)
    assert os.WIFSIGNALED(ended)


def test_the_plain_trainer_mixes_two_trainings_when_killed_in_saving_a_step_again(tmp_path: Path) -> None:
    out = tmp_path / "out"
    uninterrupted(out)
    before = {name: (out / "checkpoint-8" / name).read_bytes() for name in ("model.safetensors", "scheduler.pt")}
    _back_to_step_4_and_killed_in_the_save_of_step_8(lambda: trainer(out, max_grad_norm=0.01), out)
    changed = [name for name in before if (out / "checkpoint-8" / name).read_bytes() != before[name]]
    assert changed == ["model.safetensors"]


def test_ours_has_the_old_or_the_new_when_killed_in_saving_a_step_again(
    each_saver: MakeSaver, tmp_path: Path, end: Weights
) -> None:
    out = tmp_path / "out"
    uninterrupted(out, stallfree())
    _back_to_step_4_and_killed_in_the_save_of_step_8(lambda: trainer(out, stallfree(), max_grad_norm=0.01), out)
    manifest.verify(out / "checkpoint-8")
    resumed = trainer(out, stallfree())
    resumed.train(resume_from_checkpoint=True)
    assert first_step(resumed) == 9 and same(weights(resumed), end)


def _be_told_to_stop() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def test_the_plain_trainer_ends_at_sigterm_and_loses_its_last_steps(tmp_path: Path) -> None:
    out = tmp_path / "out"
    ended = end_of(lambda: trainer(out, At("on_step_begin", 6, _be_told_to_stop)).train())
    assert ended == -signal.SIGTERM and [path.name for path in out.iterdir()] == ["checkpoint-4"]


def _when_the_forward_pass_of_step_7_is_half_done(act: Callable[[Trainer], object]) -> Callable[[Trainer], None]:
    def arrange(of: Trainer) -> None:
        def half_way(*_: Any) -> None:
            if of.state.global_step == 6 and torch.is_grad_enabled():
                act(of)

        model: Any = of.model
        model.transformer.h[0].register_forward_hook(half_way)

    return arrange


def test_the_plain_trainers_just_in_time_save_mixes_two_states(tmp_path: Path, end: Weights) -> None:
    """It saves before the optimizer's step, when the dropout of that step has been drawn already."""

    def request(of: Trainer) -> None:
        for callback in of.callback_handler.callbacks:
            if manager := getattr(callback, "jit_manager", None):
                manager.is_checkpoint_requested = True

    stopped = trainer(tmp_path, enable_jit_checkpoint=True, save_steps=100)
    _when_the_forward_pass_of_step_7_is_half_done(request)(stopped)
    stopped.train()
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint-6"]
    resumed = trainer(tmp_path, save_steps=100)
    resumed.train(resume_from_checkpoint=True)
    assert first_step(resumed) == 7 and not same(weights(resumed), end)


def test_ours_asked_to_stop_in_a_forward_pass_saves_the_step_and_resumes_exactly(
    each_saver: MakeSaver, tmp_path: Path, end: Weights
) -> None:
    stopped = trainer(tmp_path, stallfree(), save_steps=100)
    _when_the_forward_pass_of_step_7_is_half_done(lambda of: _be_told_to_stop())(stopped)
    with pytest.raises(SystemExit) as left:
        stopped.train()
    assert left.value.code == 143
    events: list[Event] = []
    resumed = trainer(tmp_path, stallfree(events), save_steps=100)
    resumed.train(resume_from_checkpoint=True)
    assert events[0] == Resumed(7, str(tmp_path / "checkpoint-7"))
    assert not any(isinstance(event, PassedOver) for event in events)
    assert same(weights(resumed), end)
