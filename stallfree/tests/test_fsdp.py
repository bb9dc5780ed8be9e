"""FSDP2: every process saves its shards while training goes on, and any number of processes goes on from them."""

import os
import random
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import torch
from processes import Ended, in_processes
from sharding import SHARDED, allow_on_the_cpu, same, whole
from stallfree.cadence import EverySteps
from stallfree.callback import Stallfree
from stallfree.checkpoint import manifest
from stallfree.checkpoint.search import newest_whole
from stallfree.direct_io import writing
from stallfree.saving.overlapped import OverlappedSaver
from stallfree.saving.saver import PlainSaver, SaveFailed
from transformers import TrainerCallback

PLAINLY = "written while training waits"
FOLDERS = ("pytorch_model_fsdp_0", "optimizer_0")


class At(TrainerCallback):
    def __init__(self, step: int, action: Callable[..., object]) -> None:
        self._step = step
        self._action = action

    def on_step_begin(self, args: Any, state: Any, control: Any, **objects: Any) -> None:
        if state.global_step == self._step:
            self._action(**objects)


def crash(**_: Any) -> None:
    raise ZeroDivisionError


def weights_of(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    shards: Iterable[tuple[str, Any]] = model.named_parameters()
    return {name: weight.full_tensor().detach().clone() for name, weight in shards}


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture
def train(make_trainer: Any, tmp_path: Path) -> Callable[..., list[Ended]]:
    """Train in shards; each process answers with all weights, and with its error if it ended with one."""

    def in_all(
        *, callbacks: Callable[[int], list[TrainerCallback]] = lambda number: [], count: int = 2, **arguments: Any
    ) -> list[Ended]:
        def work(number: int) -> Any:
            allow_on_the_cpu()
            trainer = make_trainer(
                *callbacks(number), **{"max_steps": 8, "ddp_backend": "gloo", **SHARDED, **arguments}
            )
            try:
                trainer.train()
            except Exception as error:
                traceback.print_exc()
                return type(error).__name__, str(error)
            assert trainer.accelerator.is_fsdp2, "not copies instead of shards"
            return weights_of(trainer.model)

        return in_processes(count, tmp_path, work)

    return in_all


def saving(**settings: Any) -> Stallfree:
    return Stallfree(**{"cadence": EverySteps(3), "always_resume": True, "make_saver": OverlappedSaver, **settings})


def test_what_is_saved_is_what_accelerate_saves(
    train: Any, out: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for saver in (PlainSaver, OverlappedSaver):
        callback = saving(make_saver=saver)
        assert [ended.code for ended in train(callbacks=lambda number, callback=callback: [callback])] == [0, 0]
        for step in (3, 6, 8):
            manifest.verify(out / f"checkpoint-{step}")
        out.rename(tmp_path / saver.__name__)
    assert PLAINLY not in capfd.readouterr().err
    plain, overlapped = tmp_path / PlainSaver.__name__, tmp_path / OverlappedSaver.__name__
    assert {path.relative_to(plain) for path in plain.rglob("*")} == {
        path.relative_to(overlapped) for path in overlapped.rglob("*")
    }
    for step in (3, 6, 8):
        for folder in FOLDERS:
            theirs, ours = (whole(root / f"checkpoint-{step}" / folder) for root in (plain, overlapped))
            assert theirs and same(theirs, ours), (step, folder)


def test_killed_at_random_moments_it_resumes_exactly(train: Any, out: Path) -> None:
    uninterrupted = train()[0].answer

    def killing(step: int, victims: set[int]) -> Callable[[int], list[TrainerCallback]]:
        def wait_for_a_checkpoint(**_: Any) -> None:
            while not (out / f"checkpoint-{step}").exists():
                time.sleep(0.01)

        def die_in_a_moment(**_: Any) -> None:
            wait_for_a_checkpoint()
            threading.Timer(random.uniform(0, 0.1), os.kill, (os.getpid(), signal.SIGKILL)).start()

        def callbacks(number: int) -> list[TrainerCallback]:
            action = die_in_a_moment if number in victims else wait_for_a_checkpoint
            return [saving(cadence=EverySteps(1)), At(step + 1, action), At(step + 3, lambda **_: time.sleep(0.2))]

        return callbacks

    one = {random.randrange(2)}
    for step, victims in ((2, one), (5, {0, 1})):
        codes = [ended.code for ended in train(callbacks=killing(step, victims))]
        # The quicker process leaves the other without a peer, which may fail before it is killed.
        assert any(codes[number] == -signal.SIGKILL for number in victims)
        search = newest_whole(out)
        assert search.rejected == [] and search.found is not None and search.found.step >= step
    resumed = train(callbacks=lambda number: [saving()])
    assert all(same(ended.answer, uninterrupted) for ended in resumed)
    assert list((out / ".staging").iterdir()) == []


def test_two_processes_go_on_from_the_shards_of_four(train: Any, out: Path) -> None:
    crashed = train(callbacks=lambda number: [saving(), At(4, crash)], count=4, num_train_epochs=4)
    assert [ended.answer[0] for ended in crashed] == ["ZeroDivisionError"] * 4

    def compare(**objects: Any) -> None:
        saved = {name: tensor for folder in FOLDERS for name, tensor in whole(out / "checkpoint-3" / folder).items()}
        state = objects["optimizer"].state
        for name, weight in objects["model"].named_parameters():
            assert torch.equal(weight.full_tensor(), saved[f"model.{name}"])
            for moment in ("exp_avg", "exp_avg_sq"):
                assert torch.equal(state[weight][moment].full_tensor(), saved[f"optimizer.state.{name}.{moment}"])

    resumed = train(callbacks=lambda number: [saving(), At(3, compare)])
    assert [ended.code for ended in resumed] == [0, 0] and isinstance(resumed[0].answer, dict), resumed
    assert same(resumed[0].answer, resumed[1].answer)
    search = newest_whole(out)
    assert search.rejected == [] and search.found is not None and search.found.step == 8


def test_a_shard_that_one_process_cannot_write_is_a_failed_save_in_all(train: Any, out: Path) -> None:
    write = writing.write_durably

    def fail_once(path: Path, *args: Any) -> None:
        if "checkpoint-6" in path.parts:
            raise OSError(5, "Input/output error")
        write(path, *args)

    def callbacks(number: int) -> list[TrainerCallback]:
        if number == 1:
            writing.write_durably = fail_once  # type: ignore[assignment]  # in this process, which ends with the test
        return [saving()]

    answers = [ended.answer for ended in train(callbacks=callbacks)]
    assert all(answer[0] == SaveFailed.__name__ and "Input/output error" in answer[1] for answer in answers), answers
    assert [path.name for path in out.glob("checkpoint-*")] == ["checkpoint-3"]
    assert list((out / ".staging").iterdir()) == []


def test_shards_of_another_kind_are_saved_by_the_trainer_with_one_warning(
    train: Any, out: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    settings = {**SHARDED["fsdp_config"], "state_dict_type": "FULL_STATE_DICT"}
    train(callbacks=lambda number: [saving()], fsdp_config=settings, max_steps=3)
    manifest.verify(out / "checkpoint-3")
    assert capfd.readouterr().err.count(PLAINLY) == 1
