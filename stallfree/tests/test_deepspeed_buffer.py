"""What DeepSpeed hands to be written is copied while training waits, and written by each process behind it."""

import os
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from engine import Engine
from processes import Ended, in_processes
from stallfree.cadence import EverySteps
from stallfree.callback import Stallfree
from stallfree.checkpoint import manifest
from stallfree.direct_io import writing
from stallfree.saving import supported
from stallfree.saving.images import torch_layout
from stallfree.saving.images.layout import CannotOverlap, Layout
from stallfree.saving.overlapped import OverlappedSaver
from stallfree.saving.saver import PlainSaver, SaveFailed
from transformers import TrainerCallback

PLAINLY = "written while training waits"
Change = Callable[[int], object]


class At(TrainerCallback):
    def __init__(self, step: int, action: Callable[[], object]) -> None:
        self._step = step
        self._action = action

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.global_step == self._step:
            self._action()


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture
def train(make_trainer: Any, tmp_path: Path) -> Callable[..., list[Ended]]:
    """Train in two processes that save by the engine; each answers with its error and the step, if there was one."""

    def in_both(
        make_saver: Any = OverlappedSaver, callbacks: Callable[[int], list[TrainerCallback]] = lambda number: []
    ) -> list[Ended]:
        def work(number: int) -> Any:
            engine = Engine(number)
            saving = Stallfree(cadence=EverySteps(4), make_saver=make_saver)
            trainer = make_trainer(engine, saving, *callbacks(number), max_steps=9, ddp_backend="gloo")
            engine.drive(trainer)
            try:
                trainer.train()
            except Exception as error:
                return type(error).__name__, str(error), trainer.state.global_step
            return None

        return in_processes(2, tmp_path, work)

    return in_both


def test_what_is_saved_is_what_the_engine_saves(
    train: Any, out: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for saver in (PlainSaver, OverlappedSaver):
        assert [ended.answer for ended in train(saver)] == [None, None]
        out.rename(tmp_path / saver.__name__)
    assert PLAINLY not in capfd.readouterr().err
    plain, ours = tmp_path / PlainSaver.__name__, tmp_path / OverlappedSaver.__name__
    for step in (4, 8, 9):
        listed = [file.path for file in manifest.verify(ours / f"checkpoint-{step}").files]
        assert listed == [file.path for file in manifest.verify(plain / f"checkpoint-{step}").files]
        own = f"checkpoint-{step}/global_step{step}"
        for name in (f"{own}/model_states.pt", f"{own}/0_optim_states.pt", f"{own}/1_optim_states.pt"):
            assert (ours / name).read_bytes() == (plain / name).read_bytes()
        assert os.access(ours / f"checkpoint-{step}/zero_to_fp32.py", os.X_OK)


def test_training_goes_on_while_both_write_what_was_there_at_the_save(train: Any, out: Path) -> None:
    def callbacks(number: int) -> list[TrainerCallback]:
        may_write, write = threading.Event(), writing.write_durably

        def write_later(*args: Any) -> None:
            assert may_write.wait(60)
            write(*args)

        writing.write_durably = write_later  # type: ignore[assignment]  # in this process, which ends with the test
        return [At(7, may_write.set)]

    assert [ended.answer for ended in train(callbacks=callbacks)] == [None, None]
    for number in (0, 1):
        saved = torch.load(out / f"checkpoint-4/global_step4/{number}_optim_states.pt", weights_only=True)
        assert saved["step"] == 4 and torch.equal(saved["parts"][0], torch.arange(300_000.0) + number + 4)


def _second_cannot_write(number: int) -> None:
    write = writing.write_durably

    def fail(path: Path, *args: Any) -> None:
        if path.name == "1_optim_states.pt" and path.parent.name == "global_step8":
            raise OSError(28, "No space left on device")
        write(path, *args)

    writing.write_durably = fail  # type: ignore[assignment]  # in this process, which ends with the test


def _cannot_lay_out(in_which: int, number: int) -> None:
    lay_out = torch_layout.layout_of

    def fail(name: str, content: Any, **where: Any) -> Layout:
        if number == in_which and content.get("step", 0) == 8:
            raise OSError(28, "No space left on device")
        return lay_out(name, content, **where)

    torch_layout.layout_of = fail


@pytest.mark.parametrize("fault", [_second_cannot_write, partial(_cannot_lay_out, 0), partial(_cannot_lay_out, 1)])
def test_a_part_that_one_cannot_save_is_a_failed_save_in_both_and_nobody_waits_for_ever(
    fault: Change, train: Any, out: Path
) -> None:
    def callbacks(number: int) -> list[TrainerCallback]:
        fault(number)
        return []

    first, second = (ended.answer for ended in train(callbacks=callbacks))
    assert (first[0], first[2]) == (second[0], second[2]) == (SaveFailed.__name__, first[2])
    assert all("step 8 could not be saved" in answer[1] and "No space left" in answer[1] for answer in (first, second))
    assert [path.name for path in out.glob("checkpoint-*")] == ["checkpoint-4"]
    assert list((out / ".staging").iterdir()) == []


def test_without_memory_for_a_copy_in_one_both_wait_for_the_disk_with_one_warning(
    train: Any, out: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def save(*context: Any, **clock: Any) -> OverlappedSaver:
        spare = 2**40 if int(os.environ["RANK"]) == 0 else 2**20
        return OverlappedSaver(*context, **clock, spare_bytes=lambda: spare)

    assert [ended.answer for ended in train(save)] == [None, None]
    assert capfd.readouterr().err.count(PLAINLY) == 1
    assert {path.name for path in out.glob("checkpoint-*")} == {"checkpoint-4", "checkpoint-8", "checkpoint-9"}


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"checkpoint": {"checkpoint_serialization": False}}, "old format"),
        ({"checkpoint": {"use_node_local_storage": True}}, "disk of each machine"),
        ({"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "nvme"}}}, "state in files"),
    ],
)
def test_what_deepspeed_would_write_in_other_ways_is_left_to_it(make_trainer: Any, config: Any, reason: str) -> None:
    trainer = make_trainer()
    trainer.is_deepspeed_enabled, trainer.deepspeed = True, Engine(0)
    supported.check(trainer)
    trainer.deepspeed = Engine(0, **config)
    with pytest.raises(CannotOverlap, match=reason):
        supported.check(trainer)
    trainer.deepspeed = Engine(0)
    trainer.deepspeed.checkpoint_engine = type("FastCheckpointEngine", (), {})()
    with pytest.raises(CannotOverlap, match="FastCheckpointEngine"):
        supported.check(trainer)
