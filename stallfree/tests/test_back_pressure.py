"""A save that comes too early, and one that fails: the policy is followed, and an event is sent."""

import threading
from pathlib import Path
from typing import Any

import pytest
from stallfree.cadence import EverySteps
from stallfree.callback import Stallfree
from stallfree.checkpoint import manifest
from stallfree.checkpoint.store import Store
from stallfree.direct_io import writing
from stallfree.events import Event, NotSaved, Saved, Skipped
from stallfree.saving.overlapped import OverlappedSaver
from stallfree.saving.saver import SaveFailed
from transformers import TrainerCallback


def steps_in(out: Path) -> list[int]:
    for checkpoint in out.glob("checkpoint-*"):
        manifest.verify(checkpoint)
    return sorted(int(checkpoint.name.removeprefix("checkpoint-")) for checkpoint in out.glob("checkpoint-*"))


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


class LetGoAt(TrainerCallback):
    """Until training comes to a step, nothing is written."""

    def __init__(self, step: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self._step, self._may_write, self._write = step, threading.Event(), writing.write_durably
        monkeypatch.setattr(writing, "write_durably", self.write)

    def write(self, *args: Any) -> None:
        assert self._may_write.wait(60)
        self._write(*args)

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.global_step == self._step:
            self._may_write.set()


def test_by_policy_a_save_that_comes_too_early_is_left_out_and_said_to_be(
    make_trainer: Any, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[Event] = []
    saves = Stallfree(cadence=EverySteps(5), make_saver=OverlappedSaver, when_busy="skip", sink=events.append)
    make_trainer(saves, LetGoAt(22, monkeypatch)).train()
    assert [event for event in events if isinstance(event, Skipped)] == [
        Skipped(step=10, under_way=5),
        Skipped(step=15, under_way=5),
        Skipped(step=20, under_way=5),
    ]
    assert steps_in(out) == [5, 24]


def test_the_last_step_is_never_left_out(make_trainer: Any, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = LetGoAt(0, monkeypatch)

    def write_slowly(*args: Any) -> None:
        # Until training has come to its end, and waits.
        trained.wait(60)
        write(*args)

    trained, write = threading.Event(), slow.write
    monkeypatch.setattr(writing, "write_durably", write_slowly)

    class AtTheEnd(TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.global_step == state.max_steps:
                trained.set()

    events: list[Event] = []
    saves = Stallfree(cadence=EverySteps(20), make_saver=OverlappedSaver, when_busy="skip", sink=events.append)
    make_trainer(saves, slow, AtTheEnd()).train()
    assert steps_in(out) == [20, 24]
    assert not [event for event in events if isinstance(event, Skipped)]


class Failing:
    """Commits of certain steps fail, so many times."""

    def __init__(self, times: dict[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
        self._times, self._commit = times, Store.commit
        monkeypatch.setattr(Store, "commit", lambda *args: self.commit(*args))

    def commit(self, store: Store, step: int, *args: Any) -> Any:
        if self._times.get(step, 0):
            self._times[step] -= 1
            raise OSError(28, "No space left on device")
        return self._commit(store, step, *args)


@pytest.mark.usefixtures("each_saver")
def test_a_failure_ends_training_and_is_an_event_as_well(
    make_trainer: Any, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Failing({10: 1}, monkeypatch)
    events: list[Event] = []
    with pytest.raises(SaveFailed, match="step 10 could not be saved"):
        make_trainer(Stallfree(cadence=EverySteps(5), sink=events.append)).train()
    assert [event.step for event in events if isinstance(event, NotSaved)] == [10]
    assert steps_in(out) == [5]


@pytest.mark.usefixtures("each_saver")
def test_by_policy_a_failure_is_an_event_and_the_next_save_tries_again(
    make_trainer: Any, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Failing({10: 1, 15: 1}, monkeypatch)
    events: list[Event] = []
    make_trainer(Stallfree(cadence=EverySteps(5), on_error="survive", sink=events.append)).train()
    reported = [event for event in events if isinstance(event, NotSaved)]
    assert [event.step for event in reported] == [10, 15] and "No space left on device" in reported[0].reason
    assert [event.step for event in events if isinstance(event, Saved)] == [5, 20, 24]
    assert steps_in(out) == [5, 20, 24]
    assert list((out / ".staging").iterdir()) == [], "the room is given back"


@pytest.mark.usefixtures("each_saver")
def test_the_last_save_is_tried_once_more_and_its_failure_is_never_survived(
    make_trainer: Any, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Failing({24: 1}, monkeypatch)
    events: list[Event] = []
    surviving: dict[str, Any] = {"cadence": EverySteps(20), "on_error": "survive", "sink": events.append}
    make_trainer(Stallfree(**surviving)).train()
    assert steps_in(out) == [20, 24] and [event.step for event in events if isinstance(event, NotSaved)] == [24]

    (out / "checkpoint-24").rename(out / "looked-at")
    Failing({24: 100}, monkeypatch)
    with pytest.raises(SaveFailed, match="step 24"):
        make_trainer(Stallfree(**surviving)).train()
    assert steps_in(out) == [20]


def test_a_failure_after_which_training_ends_at_once_is_an_event(
    make_trainer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Crash(TrainerCallback):
        def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.global_step == 5:
                raise RuntimeError("training")

    Failing({5: 1}, monkeypatch)
    events: list[Event] = []
    saves = Stallfree(cadence=EverySteps(5), make_saver=OverlappedSaver, sink=events.append)
    with pytest.raises(RuntimeError, match="training"):
        make_trainer(saves, Crash()).train()
    assert [event.step for event in events if isinstance(event, NotSaved)] == [5]
