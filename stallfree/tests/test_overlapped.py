"""Saving while training goes on: the same files, from the same moment, and nothing else ever."""

import logging
import threading
from pathlib import Path
from typing import Any

import pytest
import torch
from killing import kill_everywhere
from stallfree.cadence import EverySteps
from stallfree.checkpoint import manifest
from stallfree.checkpoint.search import newest_whole
from stallfree.direct_io import writing
from stallfree.events import Event, NotSaved, Saved
from stallfree.saving.context import SaverContext
from stallfree.saving.overlapped import OverlappedSaver
from stallfree.saving.saver import SaveFailed
from transformers import GPT2LMHeadModel, TrainerCallback
from watching import PLAINLY, At, Noting, fast


def test_training_goes_on_while_a_checkpoint_of_its_past_is_written(
    make_trainer: Any, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_write, write = threading.Event(), writing.write_durably
    seen: list[tuple[int, list[str]]] = []
    events: list[Event] = []

    def write_later(*args: Any) -> None:
        assert may_write.wait(60)
        write(*args)

    class Look(TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.global_step in (9, 15):
                seen.append((state.global_step, [type(event).__name__ for event in events]))
            if state.global_step == 15:
                may_write.set()

    monkeypatch.setattr(writing, "write_durably", write_later)
    noting = Noting()
    make_trainer(fast(sink=events.append), noting, Look()).train()
    assert seen == [(9, []), (15, [])], "no event before the checkpoint is durable"
    noting.assert_saved(out, 8, 16, 24)


def test_a_save_waits_for_the_one_before_it(make_trainer: Any, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = writing.write_durably
    under_way: list[str] = []

    def write_alone(path: Path, *args: Any) -> None:
        under_way.append(path.parent.name)
        write(path, *args)
        assert set(under_way) == {path.parent.name}, "two at a time"
        under_way.remove(path.parent.name)

    monkeypatch.setattr(writing, "write_durably", write_alone)
    noting = Noting()
    make_trainer(fast(cadence=EverySteps(1)), noting, max_steps=6).train()
    noting.assert_saved(out, 1, 2, 3, 4, 5, 6)


def test_weights_that_every_forward_pass_changes_are_those_of_the_step_that_is_saved(
    make_trainer: Any, out: Path, caplog: pytest.LogCaptureFixture
) -> None:
    noting = Noting()
    trainer = make_trainer(fast(cadence=EverySteps(3)), noting, max_steps=9)

    def change(module: torch.nn.Module, *_: Any) -> None:
        with torch.no_grad():
            trainer.model.transformer.ln_f.bias.add_(1)

    trainer.model.register_forward_pre_hook(change)
    trainer.train()
    noting.assert_saved(out, 3, 6, 9)
    assert caplog.text == ""


def test_a_weight_that_changes_under_a_copy_makes_no_checkpoint_and_is_expected_from_then_on(
    make_trainer: Any, out: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    has_changed, write = threading.Event(), writing.write_durably

    def change(**objects: Any) -> None:
        with torch.no_grad():
            objects["model"].transformer.ln_f.bias.add_(1)
        has_changed.set()

    def write_then(*args: Any) -> None:
        assert has_changed.wait(60)
        write(*args)

    monkeypatch.setattr(writing, "write_durably", write_then)
    noting, events = Noting(), list[Event]()
    saves = fast(cadence=EverySteps(5), sink=events.append)
    make_trainer(saves, noting, At("on_step_begin", {5, 10}, change)).train()
    noting.assert_saved(out, 10, 15, 20, 24)
    assert [event.step for event in events if isinstance(event, NotSaved)] == [5]
    assert "step 5 could not be saved; older ones are untouched: transformer.ln_f.bias changed" in caplog.text
    assert list((out / ".staging").iterdir()) == []


def test_the_last_step_is_saved_again_if_a_weight_changed_under_its_copy(
    make_trainer: Any, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    has_changed, write = threading.Event(), writing.write_durably

    def change(**objects: Any) -> None:
        with torch.no_grad():
            objects["model"].transformer.ln_f.bias.add_(1)
        has_changed.set()

    def write_then(path: Path, *args: Any) -> None:
        assert path.parent.name != "checkpoint-24" or has_changed.wait(60)
        write(path, *args)

    monkeypatch.setattr(writing, "write_durably", write_then)
    noting = Noting("on_epoch_end")
    make_trainer(At("on_epoch_end", {24}, change), fast(), noting).train()
    saved = GPT2LMHeadModel.from_pretrained(out / "checkpoint-24").state_dict()
    assert all(torch.equal(saved[name], weight) for name, weight in noting.weights[24].items())


def test_weights_that_move_are_laid_out_again(make_trainer: Any, out: Path, caplog: pytest.LogCaptureFixture) -> None:
    def move(**objects: Any) -> None:
        for parameter in objects["model"].parameters():
            parameter.data = parameter.data.clone()

    noting = Noting()
    make_trainer(fast(), noting, At("on_step_end", {9}, move)).train()
    noting.assert_saved(out, 8, 16, 24)
    assert PLAINLY not in caplog.text


def test_without_memory_for_a_copy_training_waits(
    make_trainer: Any, out: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def make(context: SaverContext) -> OverlappedSaver:
        return OverlappedSaver(context, spare_bytes=lambda: 10_000)

    noting = Noting()
    with caplog.at_level(logging.WARNING):
        make_trainer(fast(make_saver=make), noting).train()
    noting.assert_saved(out, 8, 16, 24)
    assert "10000 are to be had" in caplog.text


def test_a_fault_of_the_writer_ends_training_at_one_of_the_next_steps(
    make_trainer: Any, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = writing.write_durably

    def fail_once(path: Path, *args: Any) -> None:
        if path.parent.name == "checkpoint-16":
            raise OSError(5, "Input/output error")
        write(path, *args)

    monkeypatch.setattr(writing, "write_durably", fail_once)
    trainer = make_trainer(fast())
    with pytest.raises(SaveFailed, match="step 16 could not be saved; older ones are untouched"):
        trainer.train()
    assert [path.name for path in out.glob("checkpoint-*")] == ["checkpoint-8"]
    assert list((out / ".staging").iterdir()) == []


def test_a_checkpoint_that_was_begun_is_finished_when_training_crashes(make_trainer: Any, out: Path) -> None:
    def crash(**_: Any) -> None:
        raise RuntimeError("training")

    noting = Noting()
    with pytest.raises(RuntimeError, match="training"):
        make_trainer(fast(), noting, At("on_step_begin", {8}, crash)).train()
    noting.assert_saved(out, 8)


def test_killed_anywhere_it_leaves_only_whole_checkpoints(make_trainer: Any, out: Path) -> None:
    found: set[int] = set()

    def train() -> None:
        make_trainer(fast(cadence=EverySteps(1)), max_steps=2).train()

    def check() -> None:
        search = newest_whole(out)
        assert search.rejected == [], "only whole checkpoints ever stand there"
        found.add(search.found.step if search.found else 0)
        for checkpoint in out.glob("checkpoint-*"):
            manifest.verify(checkpoint)
            checkpoint.rename(
                checkpoint.parent.parent / f"looked-at-{checkpoint.name}-{len(list(out.parent.iterdir()))}"
            )

    lines = kill_everywhere(train, check, stride=199)
    # The last one lived to its end.
    check()
    assert lines > 1000, "the kills must have reached into the writing"
    assert found == {0, 1, 2}


def test_stall_and_time_to_durable_are_two_figures(make_trainer: Any) -> None:
    events: list[Event] = []
    make_trainer(fast(sink=events.append)).train()
    saved = [event for event in events if isinstance(event, Saved)]
    assert [event.step for event in saved] == [8, 16, 24]
    assert all(0 < event.stall_seconds < event.durable_seconds for event in saved)
