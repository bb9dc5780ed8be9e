"""Two processes that train one model: they save, fail and go on as one, and each keeps its own random state."""

import os
import random
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from processes import Ended, in_processes
from stallfree.cadence import EverySteps
from stallfree.callback import Stallfree
from stallfree.checkpoint import manifest
from stallfree.checkpoint.search import newest_whole
from stallfree.direct_io import writing
from stallfree.events import Event, Saved
from stallfree.ranks import PeerFailed, Ranks
from stallfree.saving import supported
from stallfree.saving.images.layout import CannotOverlap
from stallfree.saving.overlapped import OverlappedSaver
from stallfree.saving.saver import PlainSaver, SaveFailed
from transformers import Trainer, TrainerCallback

STEPS = 12
Weights = dict[str, torch.Tensor]


class At(TrainerCallback):
    def __init__(self, step: int, action: Callable[[], object]) -> None:
        self._step = step
        self._action = action

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.global_step == self._step:
            self._action()


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture
def train(make_trainer: Any, tmp_path: Path) -> Callable[..., list[Ended]]:
    """Train in two processes; each answers (if not told otherwise) with its weights, or with its error and the step."""

    def in_both(
        callbacks: Callable[[int], list[TrainerCallback]] = lambda number: [],
        change: Callable[[int, Trainer], object] = lambda number, trainer: None,
        answer: Callable[[], Any] | None = None,
        **arguments: Any,
    ) -> list[Ended]:
        def work(number: int) -> Any:
            settings = {"max_steps": STEPS, "ddp_backend": "gloo", **arguments}
            trainer = make_trainer(*callbacks(number), **settings)
            change(number, trainer)
            try:
                trainer.train()
            except Exception as error:
                return type(error).__name__, str(error), trainer.state.global_step
            if answer:
                return answer()
            return {name: weight.clone() for name, weight in trainer.model.state_dict().items()}

        return in_processes(2, tmp_path, work)

    return in_both


_uninterrupted: list[Weights] = []


@pytest.fixture
def uninterrupted(train: Any) -> Weights:
    """What training comes to without us; it is the same for all tests, so it is done once."""
    if not _uninterrupted:
        _uninterrupted.append(train()[0].answer)
    return _uninterrupted[0]


def fast(**settings: Any) -> Stallfree:
    return Stallfree(**{"cadence": EverySteps(4), "always_resume": True, "make_saver": OverlappedSaver, **settings})


def crash() -> None:
    raise ZeroDivisionError


def same(one: Weights, other: Weights) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("saver", [PlainSaver, OverlappedSaver])
def test_a_crashed_training_resumes_to_bitwise_the_same_weights(
    saver: Any, train: Any, uninterrupted: Weights, out: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    crashed = train(lambda number: [fast(make_saver=saver), At(9, crash)])
    assert [ended.answer[0] for ended in crashed] == ["ZeroDivisionError"] * 2
    found = newest_whole(out).found
    assert found is not None and found.step == 8
    listed = {file.path for file in manifest.read(found.path).files}
    assert {"rng_state_0.pth", "rng_state_1.pth", "model.safetensors", "optimizer.pt", "scheduler.pt"} <= listed
    resumed = train(lambda number: [fast(make_saver=saver)])
    assert all(same(ended.answer, uninterrupted) for ended in resumed)
    assert "written while training waits" not in capfd.readouterr().err


def test_training_goes_on_in_both_while_the_first_writes_and_tells(train: Any, out: Path) -> None:
    events: list[Event] = []
    at_step_8: list[int] = []

    def callbacks(number: int) -> list[TrainerCallback]:
        may_write, write = threading.Event(), writing.write_durably

        def write_later(*args: Any) -> None:
            assert may_write.wait(60)
            write(*args)

        def look() -> None:
            at_step_8.append(len(events))
            may_write.set()

        writing.write_durably = write_later  # type: ignore[assignment]  # in this process, which ends with the test
        return [fast(cadence=EverySteps(5), sink=events.append), At(8, look)]

    def answer() -> Any:
        return at_step_8, [event.step for event in events if isinstance(event, Saved)]

    assert [ended.answer for ended in train(callbacks, answer=answer)] == [([0], [5, 10, 12]), ([0], [])]
    for step in (5, 10, 12):
        manifest.verify(out / f"checkpoint-{step}")


def _first_cannot_write(number: int, trainer: Trainer) -> None:
    write = writing.write_durably

    def fail_once(path: Path, *args: Any) -> None:
        if path.parent.name == "checkpoint-8":
            raise OSError(5, "Input/output error")
        write(path, *args)

    writing.write_durably = fail_once  # type: ignore[assignment]  # in this process, which ends with the test


def _second_cannot_write(number: int, trainer: Trainer) -> None:
    write = trainer._save_rng_state

    def fail_once(folder: str) -> None:
        if folder.endswith("checkpoint-8"):
            raise OSError(28, "No space left on device")
        write(folder)

    if number == 1:
        vars(trainer)["_save_rng_state"] = fail_once


@pytest.mark.parametrize(
    ("saver", "fault"),
    [
        (OverlappedSaver, _first_cannot_write),
        (OverlappedSaver, _second_cannot_write),
        (PlainSaver, _second_cannot_write),
    ],
)
def test_a_save_that_fails_in_one_fails_in_both_at_the_same_step(saver: Any, fault: Any, train: Any, out: Path) -> None:
    first, second = (ended.answer for ended in train(lambda number: [fast(make_saver=saver)], fault))
    assert (first[0], first[2]) == (second[0], second[2])
    assert first[0] == SaveFailed.__name__ and 8 <= first[2] < STEPS
    assert all("step 8 could not be saved" in answer[1] for answer in (first, second))
    assert all("Input/output error" in answer[1] or "No space left" in answer[1] for answer in (first, second))
    assert [path.name for path in out.glob("checkpoint-*")] == ["checkpoint-4"]
    assert list((out / ".staging").iterdir()) == []


def test_what_each_process_writes_is_in_the_manifest_however_late_it_comes(train: Any, out: Path) -> None:
    """As DeepSpeed does: each process has a file of its own, in a folder of the Trainer's save."""

    def change(number: int, trainer: Trainer) -> None:
        def write(folder: str) -> None:
            shards = Path(folder, "global_step4")
            shards.mkdir(parents=True, exist_ok=True)
            time.sleep(0.3 * number)
            (shards / f"zero_pp_rank_{number}_mp_rank_00_optim_states.pt").write_bytes(bytes([number]) * 1000)

        vars(trainer)["_save_optimizer_and_scheduler"] = write

    train(lambda number: [fast(make_saver=PlainSaver)], change, max_steps=4)
    listed = {file.path for file in manifest.verify(out / "checkpoint-4").files}
    assert {f"global_step4/zero_pp_rank_{number}_mp_rank_00_optim_states.pt" for number in (0, 1)} <= listed


@pytest.mark.parametrize("number_that_cannot", [0, 1])
def test_if_one_cannot_overlap_none_does(
    number_that_cannot: int, train: Any, out: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def change(number: int, trainer: Trainer) -> None:
        def refuse(trainer: Trainer) -> None:
            raise CannotOverlap("something is special about this process")

        if number == number_that_cannot:
            supported.check = refuse

    assert [ended.code for ended in train(lambda number: [fast()], change)] == [0, 0]
    for step in (4, 8, 12):
        manifest.verify(out / f"checkpoint-{step}")
    assert capfd.readouterr().err.count("while training waits: something is special about this process") == 1


def test_state_that_moves_in_one_process_is_laid_out_again_in_both(train: Any, out: Path) -> None:
    def callbacks(number: int) -> list[TrainerCallback]:
        return [fast(), At(6, move) if number == 1 else At(0, lambda: None)]

    def change(number: int, trainer: Trainer) -> None:
        trainers.append(trainer)

    def move() -> None:
        (trainer,) = trainers
        state = trainer.optimizer.state  # type: ignore[union-attr]  # there is one while training
        for moments in state.values():
            moments["grown"] = torch.ones(5000)

    trainers: list[Trainer] = []
    assert [ended.code for ended in train(callbacks, change)] == [0, 0]
    for step in (4, 8, 12):
        manifest.verify(out / f"checkpoint-{step}")


def test_without_a_checkpoint_that_must_be_there_both_refuse_to_begin(train: Any) -> None:
    answers = [ended.answer for ended in train(lambda number: [fast(resume_at_least=8)])]
    assert all("Training was to resume from step 8" in answer[1] for answer in answers)


def test_what_the_first_cannot_decide_is_an_error_in_both_with_its_words(tmp_path: Path) -> None:
    def refuse() -> None:
        raise FileNotFoundError("/no/such/mount")

    def work(number: int) -> str:
        dist.init_process_group("gloo")
        with pytest.raises((FileNotFoundError, PeerFailed)) as refused:
            Ranks().from_first(refuse)
        return f"{refused.type.__name__}: {refused.value}"

    assert [ended.answer for ended in in_processes(2, tmp_path, work)] == [
        "FileNotFoundError: /no/such/mount",
        "PeerFailed: process 0: FileNotFoundError: /no/such/mount",
    ]


@pytest.mark.parametrize("victims", [{random.randrange(2)}, {0, 1}], ids=["one", "both"])
def test_killed_at_a_random_moment_it_resumes_exactly(
    victims: set[int], train: Any, uninterrupted: Weights, out: Path
) -> None:

    def wait_for_the_first_checkpoint() -> None:
        while not (out / "checkpoint-4").exists():
            time.sleep(0.01)

    def die_in_a_moment() -> None:
        wait_for_the_first_checkpoint()
        threading.Timer(random.uniform(0, 0.15), os.kill, (os.getpid(), signal.SIGKILL)).start()

    def callbacks(number: int) -> list[TrainerCallback]:
        action = die_in_a_moment if number in victims else wait_for_the_first_checkpoint
        return [fast(), At(6, action), At(9, lambda: time.sleep(0.2))]

    codes = [ended.code for ended in train(callbacks)]
    assert all(codes[number] == -signal.SIGKILL for number in victims)
    search = newest_whole(out)
    assert search.rejected == [] and search.found is not None and search.found.step in (4, 8)
    resumed = train(lambda number: [fast()])
    assert all(same(ended.answer, uninterrupted) for ended in resumed)
    assert list((out / ".staging").iterdir()) == []
