"""The newest step stands whole in memory: saved from there, training goes on from it exactly."""

import threading
from pathlib import Path
from typing import Any

import pytest
import torch
from stallfree.cadence import EverySteps
from stallfree.callback import Stallfree
from stallfree.checkpoint import manifest
from stallfree.direct_io import writing
from stallfree.saving.context import SaverContext
from stallfree.saving.overlapped import OverlappedSaver
from stallfree.saving.saver import SaveFailed
from watching import At, Noting, fast


class Stuck(Exception):
    """Training never goes on."""


class Savers:
    """Makes savers that take snapshots, and knows the last one."""

    def __init__(self, **settings: Any) -> None:
        self._settings = settings
        self.saver: OverlappedSaver

    def __call__(self, context: SaverContext) -> OverlappedSaver:
        self.saver = OverlappedSaver(context, snapshots=True, **self._settings)
        return self.saver

    def memory_taken(self, **_: Any) -> None:
        """StepTimes this short may all be over before."""
        buffer = self.saver._setup.buffer
        assert buffer is not None
        buffer.ready.result(60)

    def commit_from_elsewhere(self, **_: Any) -> None:
        """As a watchdog does when training does not answer."""
        steps: list[int] = []
        watchdog = threading.Thread(target=lambda: steps.append(self.saver.commit_snapshot(60)))
        watchdog.start()
        watchdog.join(60)
        assert steps, "the snapshot was committed"
        raise Stuck


def weights_of(trainer: Any) -> dict[str, torch.Tensor]:
    return {name: weight.clone() for name, weight in trainer.model.state_dict().items()}


@pytest.mark.parametrize("step", [5, 14])
def test_training_that_is_stuck_goes_on_from_its_newest_step_as_if_it_had_never_stopped(
    step: int, make_trainer: Any, out: Path
) -> None:
    trainer = make_trainer()
    trainer.train()
    uninterrupted = weights_of(trainer)
    savers = Savers()
    taken = At("on_step_end", {1}, savers.memory_taken)
    stuck = At("on_step_begin", {step}, savers.commit_from_elsewhere)
    with pytest.raises(Stuck):
        make_trainer(fast(make_saver=savers), taken, stuck).train()
    manifest.verify(out / f"checkpoint-{step}")
    resumed = make_trainer(Stallfree())
    resumed.train(resume_from_checkpoint=True)
    ended = weights_of(resumed)
    assert all(torch.equal(ended[name], weight) for name, weight in uninterrupted.items())


def test_a_snapshot_is_committed_after_the_save_that_is_under_way(
    make_trainer: Any, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_write, write = threading.Event(), writing.write_durably

    def write_later(path: Path, *args: Any) -> None:
        assert may_write.wait(60)
        write(path, *args)

    monkeypatch.setattr(writing, "write_durably", write_later)
    savers, noting = Savers(), Noting()

    def commit(**_: Any) -> None:
        assert savers.saver.under_way() == 8
        assert savers.saver.snapshot_of_step() == 11
        may_write.set()
        savers.commit_from_elsewhere()

    with pytest.raises(Stuck):
        make_trainer(fast(make_saver=savers), noting, At("on_step_begin", {11}, commit)).train()
    noting.assert_saved(out, 8, 11)


def test_saves_and_snapshots_do_not_disturb_each_other(make_trainer: Any, out: Path) -> None:
    savers, noting = Savers(), Noting()
    make_trainer(fast(make_saver=savers, cadence=EverySteps(2)), noting, max_steps=8).train()
    noting.assert_saved(out, 2, 4, 6, 8)


def test_a_weight_that_changes_during_the_step_makes_its_snapshot_unusable(make_trainer: Any, out: Path) -> None:
    savers = Savers()
    found: list[int | None] = []

    def change(**objects: Any) -> None:
        with torch.no_grad():
            objects["model"].transformer.ln_f.bias.add_(1)
        found.append(savers.saver.snapshot_of_step())
        with pytest.raises(SaveFailed, match="no step is whole in memory"):
            savers.saver.commit_snapshot(60)

    make_trainer(fast(make_saver=savers), At("on_step_begin", {5}, change), max_steps=6).train()
    assert found == [None]


def test_without_memory_for_two_copies_there_are_saves_and_no_snapshots(
    make_trainer: Any, out: Path, caplog: pytest.LogCaptureFixture
) -> None:
    # A copy of this state takes about 100 kB.
    savers, noting = Savers(spare_bytes=lambda: 150_000), Noting()
    make_trainer(fast(make_saver=savers), noting).train()
    noting.assert_saved(out, 8, 16, 24)
    assert caplog.text.count("There are no snapshots of steps: they take") == 1
