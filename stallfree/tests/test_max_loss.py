"""A cadence that promises how much work a failure costs at most, under a clock that the test moves."""

from collections import deque
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stallfree.cadence.max_loss import MaxLoss
from stallfree.callback import Stallfree
from stallfree.checkpoint.store import Store
from stallfree.events import Arrived, Event, Interfered, MaxLossNotKept, NotSaved, Saved, Skipped
from stallfree.saving.saver import PlainSaver
from stallfree.tiers.tier import Tier
from transformers import TrainerCallback


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def saved(step: int, *, stall: float = 0.0, durable: float = 0.0) -> Saved:
    return Saved(step, "p", 1, 1, stall_seconds=stall, durable_seconds=durable, manifest_crc64nvme="")


def arrived(step: int) -> Arrived:
    return Arrived(step, "p", 1, 1, 0.0, "")


class Run:
    """Training by the step; each save becomes durable after a while, and counts after another."""

    def __init__(self, cadence: MaxLoss, clock: Clock, *, durable: float = 0.0, beyond: float = 0.0) -> None:
        self.cadence, self.clock, self.durable, self.beyond = cadence, clock, durable, beyond
        self.step = 0
        self.saves: list[int] = []
        self.most_at_risk = 0.0
        self._coming: deque[tuple[float, int, float, bool]] = deque()
        self._safe_from = clock.now
        cadence.saved()

    def train(self, steps: int, *, step_seconds: float) -> "Run":
        for _ in range(steps):
            self._until(self.clock.now + step_seconds)
            self.step += 1
            if self.cadence.is_due(self.step):
                self._save()
        return self

    def _save(self) -> None:
        # One at a time: training waits for the one that is under way.
        writing = [at for at, _, _, counts in self._coming if not counts]
        self._until(max([self.clock.now, *writing]))
        self.saves.append(self.step)
        self.cadence.saved()
        began = self.clock.now
        coming = [(began + self.durable, self.step, began, False)]
        coming.append((began + self.durable + self.beyond, self.step, began, True))
        self._coming = deque(sorted([*self._coming, *coming], key=lambda one: one[0]))

    def _until(self, moment: float) -> None:
        while self._coming and self._coming[0][0] <= moment:
            at, step, began, counts = self._coming.popleft()
            self.clock.now = at
            if counts:
                self.most_at_risk = max(self.most_at_risk, at - self._safe_from)
                self._safe_from = began
                if self.beyond:
                    self.cadence.observe(arrived(step))
            else:
                self.cadence.observe(saved(step, durable=self.durable))
        self.clock.now = moment
        self.most_at_risk = max(self.most_at_risk, moment - self._safe_from)


def test_the_time_until_a_save_is_durable_shares_the_promise() -> None:
    clock = Clock()
    run = Run(MaxLoss(100, clock=clock), clock, durable=20).train(40, step_seconds=5)
    # The first early, to learn what a save takes; then 0.9 * 100 - 20 s apart.
    assert run.saves == [1, 15, 29]
    assert run.most_at_risk <= 100


shares = st.floats(0, 1.2)


@settings(deadline=None, max_examples=60)
@given(step=st.floats(0.01, 1.2), durable=shares, beyond=shares, guess=shares)
def test_what_can_be_kept_is_kept_and_what_cannot_is_said_once(
    step: float, durable: float, beyond: float, guess: float
) -> None:
    clock, work = Clock(), 1.0
    cadence = MaxLoss(work, beyond_seconds=guess, clock=clock)
    run = Run(cadence, clock, durable=durable, beyond=beyond)
    # Until the first save counts there is nothing to go by.
    run.train(1 + int((durable + beyond + work) / step), step_seconds=step)
    said, run.most_at_risk = [cadence.unkept()], 0.0
    run.train(int(4 * (work + durable + beyond) / step), step_seconds=step)
    said += [cadence.unkept(), cadence.unkept()]
    least = max(step, durable) + durable + beyond
    if least < 0.85 * work:
        assert run.most_at_risk <= work, "kept"
    if least > work * 1.01:
        assert any(said), "said"
    assert len([one for one in said if one]) <= 1, "once"


def test_it_follows_when_saves_and_steps_become_slower() -> None:
    clock = Clock()
    run = Run(MaxLoss(100, clock=clock), clock, durable=10).train(41, step_seconds=5)
    assert run.saves == [1, 17, 33]
    run.durable = 50
    run.train(60, step_seconds=5)
    # What the first slow one takes is known when it is done.
    assert run.saves[3:] == [49, 59, 69, 79, 89, 99]
    run.train(30, step_seconds=20)
    assert {later - earlier for earlier, later in zip(run.saves[-4:], run.saves[-3:], strict=False)} == {2}


def test_expected_failures_make_it_save_more_often_than_the_promise_alone() -> None:
    clock = Clock()
    cadence = MaxLoss(3000, failures_per_hour=1.0, clock=clock)
    cadence.saved()
    assert not cadence.is_due(1)
    cadence.observe(saved(1, stall=0.5))
    assert cadence.interval_seconds() == pytest.approx(60, rel=0.02), "sqrt(2 * 0.5 * 3600)"
    cadence.observe(Interfered(1, seconds=2.0, steps=3))
    assert cadence.interval_seconds() == pytest.approx(120, rel=0.02), "what it took from the steps counts"


def test_a_save_that_failed_or_was_left_out_protects_nothing() -> None:
    for lost in (NotSaved(10, "disk full"), Skipped(10, under_way=5)):
        clock = Clock()
        cadence = MaxLoss(100, clock=clock)
        cadence.saved()
        clock.now += 10
        assert cadence.is_due(1)
        cadence.saved()
        cadence.observe(saved(1))
        clock.now += 88
        assert cadence.is_due(10)
        cadence.saved()
        assert not cadence.is_due(11)
        cadence.observe(lost)
        assert cadence.is_due(12), "as much is at risk as before"


def test_a_step_that_takes_too_long_is_said() -> None:
    clock = Clock()
    cadence = MaxLoss(100, clock=clock)
    run = Run(cadence, clock, durable=5).train(10, step_seconds=5)
    assert cadence.unkept() is None
    run.train(1, step_seconds=200)
    unkept = cadence.unkept()
    assert unkept is not None and unkept.at_risk_seconds >= 205 and unkept.work_seconds == 100
    assert "5.0 s until one counts" in unkept.reason and "a step takes 5.0 s" in unkept.reason


@pytest.mark.parametrize(("work", "rate"), [(0, 0), (-1, 0), (float("nan"), 0), (float("inf"), 0), (10, -1)])
def test_what_is_no_promise_is_refused(work: float, rate: float) -> None:
    with pytest.raises(ValueError, match="MaxLoss needs"):
        MaxLoss(work, failures_per_hour=rate)


class Passing(TrainerCallback):
    """Time goes by in steps, and in saves, as the test says."""

    def __init__(self, clock: Clock, *, step: float, save: dict[int, float], monkeypatch: pytest.MonkeyPatch) -> None:
        self._clock, self._step = clock, step
        commit = Store.commit

        def slowly(store: Store, step: int, *args: Any) -> Any:
            clock.now += save[max(known for known in save if known <= step)]
            return commit(store, step, *args)

        monkeypatch.setattr(Store, "commit", slowly)

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        self._clock.now += self._step


def test_in_a_real_training_saves_come_closer_as_they_become_slower(
    make_trainer: Any, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    events: list[Event] = []
    cadence = MaxLoss(60, clock=clock)
    saves = Stallfree(cadence=cadence, make_saver=partial(PlainSaver, clock=clock), sink=events.append)
    make_trainer(saves, Passing(clock, step=10, save={0: 5, 9: 15}, monkeypatch=monkeypatch)).train()
    steps = [event.step for event in events if isinstance(event, Saved)]
    # 0.9 * 60 - 5 s are four steps. 0.9 * 60 - 15 s are three, the wait for the save included.
    assert steps == [1, 5, 9, 11, 13, 15, 17, 19, 21, 23, 24]
    assert not [event for event in events if isinstance(event, MaxLossNotKept)]


def test_in_a_real_training_a_promise_that_cannot_be_kept_is_said_once(
    make_trainer: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    events: list[Event] = []
    saves = Stallfree(cadence=MaxLoss(12, clock=clock), make_saver=partial(PlainSaver, clock=clock), sink=events.append)
    make_trainer(saves, Passing(clock, step=10, save={0: 5}, monkeypatch=monkeypatch)).train()
    (unkept,) = [event for event in events if isinstance(event, MaxLossNotKept)]
    assert (unkept.step, unkept.work_seconds, unkept.at_risk_seconds) == (1, 12, 15)
    assert "A failure may cost 15.0 s of work, and not at most 12.0 s" in caplog.text
    assert len([event for event in events if isinstance(event, Saved)]) == 24, "as often as can be"


def test_behind_a_fast_tier_a_checkpoint_counts_when_it_has_arrived(
    make_trainer: Any, out: Path, tmp_path: Path
) -> None:
    class Hearing(MaxLoss):
        counted: list[int]

        def arrived(self, step: int, *, still_seconds: float = 0.0) -> None:
            super().arrived(step, still_seconds=still_seconds)
            self.counted.append(step)

    near, far = Hearing(1000), Hearing(1000)
    near.counted, far.counted = [], []
    make_trainer(Stallfree(fast=Tier(tmp_path / "fast", near), cadence=far)).train()
    assert far.counted == [24] and near.counted == []
    assert (out / "checkpoint-24").is_dir()
