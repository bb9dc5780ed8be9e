"""A fast tier in front of the folder that counts: saved there often, moved on when due, and never relied upon."""

import errno
import os
import shutil
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest
import torch
from stallfree.cadence import EverySteps
from stallfree.callback import Stallfree
from stallfree.checkpoint import manifest
from stallfree.checkpoint.store import Store
from stallfree.events import Arrived, Event, LeftOut, PassedOver, Removed, Resumed, Saved
from stallfree.saving.saver import SaveFailed
from stallfree.tiers.folder import FolderTier
from stallfree.tiers.storage import TierStorage
from stallfree.tiers.tier import BothCadences, Tier
from transformers import Trainer, TrainerCallback


class Crash(Exception):
    pass


class At(TrainerCallback):
    def __init__(self, step: int, action: Any) -> None:
        self._step, self._action = step, action

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.global_step == self._step:
            self._action()


def crash() -> None:
    raise Crash


def steps_in(folder: Path) -> list[int]:
    for checkpoint in folder.glob("checkpoint-*"):
        manifest.verify(checkpoint)
    return sorted(int(checkpoint.name[11:]) for checkpoint in folder.glob("checkpoint-*"))


def weights(trainer: Trainer) -> dict[str, torch.Tensor]:
    assert trainer.model is not None
    return {name: weight.clone() for name, weight in trainer.model.state_dict().items()}


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


@pytest.fixture
def fast(tmp_path: Path) -> Path:
    return tmp_path / "fast"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def tiered(fast: Path, events: list[Event] | None = None, *, keep_fast: int = 2, **settings: Any) -> Stallfree:
    tier = Tier(fast, EverySteps(2), keep=keep_fast)
    sink = (lambda _: None) if events is None else events.append
    return Stallfree(**{"cadence": EverySteps(8), "keep": 2, "fast": tier, "sink": sink, **settings})


@pytest.mark.usefixtures("each_saver")
def test_each_tier_has_its_own_cadence_and_keeps_its_own_number(make_trainer: Any, fast: Path, out: Path) -> None:
    events: list[Event] = []
    make_trainer(tiered(fast, events)).train()
    assert [event.step for event in events if isinstance(event, Saved)] == list(range(2, 25, 2))
    assert [event.step for event in events if isinstance(event, Arrived)] == [8, 16, 24]
    assert [event.step for event in events if isinstance(event, Removed)] == [8], "of the folder that counts alone"
    assert steps_in(fast) == [22, 24] and steps_in(out) == [16, 24]
    assert list((fast / ".staging").iterdir()) == [] and list((out / ".staging").iterdir()) == []


def test_what_arrives_is_the_same_files_and_is_whole_when_it_is_announced(
    make_trainer: Any, fast: Path, out: Path
) -> None:
    def sink(event: Event) -> None:
        if isinstance(event, Arrived):
            assert manifest.verify(Path(event.path)).crc64nvme == event.manifest_crc64nvme
            assert Path(event.path) == out / f"checkpoint-{event.step}"

    make_trainer(tiered(fast, sink=sink)).train()
    assert manifest.read(fast / "checkpoint-24").files == manifest.read(out / "checkpoint-24").files


@pytest.mark.usefixtures("each_saver")
def test_a_resume_takes_the_newest_step_and_of_equals_the_fast_copy(make_trainer: Any, fast: Path, out: Path) -> None:
    whole = make_trainer()
    whole.train()
    with pytest.raises(Crash):
        make_trainer(tiered(fast), At(13, crash)).train()
    assert steps_in(fast) == [10, 12] and 12 in steps_in(out), "what is newest is in both when training has ended"
    events: list[Event] = []
    resumed = make_trainer(tiered(fast, events))
    resumed.train(resume_from_checkpoint=True)
    assert events[0] == Resumed(12, str(fast / "checkpoint-12"))
    assert same(weights(resumed), weights(whole))


@pytest.mark.parametrize("outcome", ["lost", "damaged"])
def test_a_fast_tier_that_is_lost_or_damaged_costs_its_newer_steps_alone(
    make_trainer: Any, fast: Path, out: Path, outcome: str
) -> None:
    whole = make_trainer()
    whole.train()
    with pytest.raises(Crash):
        make_trainer(tiered(fast), At(13, crash)).train()
    shutil.rmtree(out / "checkpoint-12")
    if outcome == "lost":
        shutil.rmtree(fast)
    else:
        for checkpoint in fast.glob("checkpoint-*"):
            file = checkpoint / "optimizer.pt"
            file.write_bytes(file.read_bytes()[:-1] + b"?")
    events: list[Event] = []
    resumed = make_trainer(tiered(fast, events))
    resumed.train(resume_from_checkpoint=True)
    passed = [event for event in events if isinstance(event, PassedOver)]
    assert len(passed) == (0 if outcome == "lost" else 2)
    assert [event for event in events if isinstance(event, Resumed)] == [Resumed(8, str(out / "checkpoint-8"))]
    assert same(weights(resumed), weights(whole)) and steps_in(out)[-1] == 24


def test_without_room_in_the_fast_tier_saves_go_past_it_and_training_goes_on(
    make_trainer: Any, fast: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[Event] = []
    full = type("Usage", (), {"free": 1000})
    room = shutil.disk_usage
    monkeypatch.setattr(shutil, "disk_usage", lambda path: full if fast in Path(path).parents else room(path))
    make_trainer(tiered(fast, events)).train()
    assert steps_in(fast) == [] and steps_in(out) == [22, 24]
    left_out = [event for event in events if isinstance(event, LeftOut)]
    assert [event.step for event in left_out] == list(range(2, 25, 2))
    assert "1000 bytes of room" in left_out[0].reason and left_out[0].folder == str(fast)


def test_a_real_tmpfs_that_is_too_small_is_passed_by(make_trainer: Any, fast: Path, out: Path) -> None:
    fast.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", fast], check=False).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        make_trainer(tiered(fast)).train()
        assert steps_in(out) == [22, 24]
    finally:
        subprocess.run(["umount", fast], check=True)


def test_a_fast_tier_that_disappears_while_training_runs_is_made_again(
    make_trainer: Any, fast: Path, out: Path
) -> None:
    is_saved = threading.Event()

    def sink(event: Event) -> None:
        if isinstance(event, Arrived) and event.step == 8:
            is_saved.set()

    def disappear() -> None:
        # Between two saves. In the middle of one, that save fails, as on any disk.
        assert is_saved.wait(60)
        shutil.rmtree(fast)

    make_trainer(tiered(fast, sink=sink), At(9, disappear)).train()
    assert steps_in(out) == [16, 24] and 24 in steps_in(fast)


@pytest.mark.usefixtures("each_saver")
def test_sigterm_brings_the_last_step_to_the_folder_that_counts(make_trainer: Any, fast: Path, out: Path) -> None:
    with pytest.raises(SystemExit):
        make_trainer(tiered(fast), At(6, lambda: os.kill(os.getpid(), signal.SIGTERM))).train()
    assert steps_in(out) == [7]


def test_a_checkpoint_that_is_on_its_way_stays_until_it_arrives(
    make_trainer: Any, fast: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[Event] = []
    three_later = threading.Event()

    def sink(event: Event) -> None:
        events.append(event)
        if isinstance(event, Saved) and event.step == 14:
            three_later.set()

    put = FolderTier.put

    def slowly(*what: Any) -> Any:
        assert three_later.wait(60)
        return put(*what)

    monkeypatch.setattr(FolderTier, "put", slowly)
    make_trainer(tiered(fast, sink=sink, keep_fast=1)).train()
    assert [event.step for event in events if isinstance(event, Arrived)] == [8, 16, 24]
    assert not any(isinstance(event, LeftOut) for event in events)


def test_a_folder_is_a_tier_that_holds_what_was_put(tmp_path: Path) -> None:
    source, store = (Store(checkpoints=tmp_path / name, staging=tmp_path / f"{name}-staging") for name in ("a", "b"))
    source.open()
    store.open()
    (source.stage(8) / "model.safetensors").write_bytes(bytes(10_000))
    whole = source.commit(8)
    tier: TierStorage = FolderTier(store)
    assert tier.why_no_room(10_000) is None and "bytes of room" in str(tier.why_no_room(2**60))
    assert tier.put(whole, source.path(8)).files == tier.verify(8).files == whole.files
    assert tier.steps() == [8] and tier.name == str(tmp_path / "b")
    tier.remove(8)
    assert tier.steps() == []
    with pytest.raises(manifest.NotWhole, match="no manifest"):
        tier.verify(8)


def test_a_damaged_checkpoint_is_not_moved(tmp_path: Path) -> None:
    fast, slow = (Store(checkpoints=tmp_path / name, staging=tmp_path / f"{name}-staging") for name in ("fast", "slow"))
    fast.open()
    slow.open()
    (fast.stage(8) / "model.safetensors").write_bytes(bytes(10_000))
    fast.commit(8)
    (fast.path(8) / "model.safetensors").write_bytes(bytes(9_999) + b"?")
    with pytest.raises(manifest.NotWhole, match="other bytes"):
        FolderTier(slow).put(FolderTier(fast).verify(8), fast.path(8))
    assert slow.steps() == [] and list(slow.staging.iterdir()) == []


def test_where_the_newest_never_arrives_training_ends_with_an_error_that_says_so(
    make_trainer: Any, fast: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(FolderTier, "put", full)
    events: list[Event] = []
    with pytest.raises(SaveFailed, match=r"step 24 .* stays in"):
        make_trainer(tiered(fast, events)).train()
    assert steps_in(fast) == [22, 24]
    assert {event.step for event in events if isinstance(event, LeftOut)} == {8, 16, 24}


def test_a_fast_tier_alone_does_not_say_what_goes_on() -> None:
    with pytest.raises(ValueError, match="cadence="):
        Stallfree(fast=Tier(Path("/dev/shm/run"), EverySteps(2)))


def test_what_was_due_and_not_saved_is_made_up_for_by_the_next_save() -> None:
    both = BothCadences(EverySteps(2), EverySteps(8))
    both.saved()
    assert [step for step in range(1, 13) if both.is_due(step)] == [2, 4, 6, 8, 10, 12]
    assert not both.goes_on(6) and both.goes_on(10) and not both.goes_on(12)
