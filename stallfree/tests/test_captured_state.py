"""The small files of a save are of its moment, and no loop waits for their disk."""

import io
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
from stallfree.checkpoint.store import Store
from stallfree.saving.captured_state import CapturedState
from stallfree.saving.deferred_files import copy_of, deferred, write_json
from transformers import Trainer
from watching import At, Noting, fast, files_of_each_saver


def test_small_files_are_those_of_their_step_however_late_they_are_written(
    make_trainer: Any, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    has_gone_on, write = threading.Event(), CapturedState.write

    def write_late(moment: CapturedState, folder: Path) -> None:
        assert folder.name == "checkpoint-20" or has_gone_on.wait(60)
        has_gone_on.clear()
        write(moment, folder)

    def watch(trainer: Trainer) -> None:
        live = [0]
        has_gone_on.clear()

        def go_on(**_: Any) -> None:
            torch.rand(7)
            live.append(1)
            has_gone_on.set()

        vars(trainer)["_save_scaler"] = lambda folder: torch.save(live, Path(folder, "scaler.pt"))
        trainer.add_callback(At("on_step_begin", {10, 18}, go_on))

    monkeypatch.setattr(CapturedState, "write", write_late)
    files_of_each_saver(make_trainer, watch, out, logging_steps=1)
    for step in (8, 16):
        state = json.loads((out.parent / f"OverlappedSaver-checkpoint-{step}" / "trainer_state.json").read_text())
        assert state["global_step"] == step
        assert max(line["step"] for line in state["log_history"]) <= step


def test_training_goes_on_before_a_save_has_touched_its_folder(
    make_trainer: Any, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    has_gone_on, stage = threading.Event(), Store.stage

    def stage_late(store: Store, step: int) -> Path:
        assert step != 8 or has_gone_on.wait(60)
        return stage(store, step)

    monkeypatch.setattr(Store, "stage", stage_late)
    noting = Noting()
    make_trainer(fast(), noting, At("on_step_begin", {8}, lambda **_: has_gone_on.set())).train()
    noting.assert_saved(out, 8, 16, 24)


def test_what_the_trainer_writes_in_ways_of_its_own_is_saved_as_well(make_trainer: Any, out: Path) -> None:
    def change(trainer: Trainer) -> None:
        def save_scaler(folder: str) -> None:
            torch.save({"scale": torch.ones(2)}, Path(folder, "scaler.pt"))
            Path(folder, "own").mkdir()
            Path(folder, "own", "notes.txt").write_text("kept")

        vars(trainer)["_save_scaler"] = save_scaler

    files_of_each_saver(make_trainer, change, out)
    assert (out.parent / "OverlappedSaver-checkpoint-8" / "own" / "notes.txt").read_text() == "kept"


def test_a_copy_is_the_same_to_the_last_byte_and_does_not_change_with_what_it_was_made_of() -> None:
    shared = [1.0, 2.0]
    words = torch.arange(10)
    content = {
        "random": (3, tuple(range(700)), None),
        "state": {"now": words, "again": words, "part": words[2:5]},
        "lists": [shared, shared],
    }
    before = _saved(content)
    settled = copy_of(content)
    assert _saved(settled) == before
    words += 1
    shared.append(3.0)
    assert _saved(settled) == before != _saved(content)


def test_only_what_this_thread_saves_into_the_folder_is_held_back(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    with deferred(folder) as files:
        torch.save(1, folder / "mine.pt")
        write_json(f"{folder}/mine.json", [1])
        torch.save(2, tmp_path / "elsewhere.pt")
        torch.save(3, io.BytesIO())
        other = threading.Thread(target=lambda: torch.save(4, folder / "theirs.pt"))
        other.start()
        other.join()
    torch.save(5, folder / "later.pt")
    assert sorted(path.name for path in tmp_path.rglob("*.*")) == ["elsewhere.pt", "later.pt", "theirs.pt"]
    assert files.keys() == {"mine.pt", "mine.json"}
    for name, write in files.items():
        write(tmp_path / name)
    assert torch.load(tmp_path / "mine.pt", weights_only=True) == 1
    assert (tmp_path / "mine.json").read_text() == "[1]"


def test_two_trainings_that_save_at_once_get_each_its_own_files(tmp_path: Path) -> None:
    save, both, files = torch.save, threading.Barrier(2, timeout=60), dict[str, list[str]]()

    def train(name: str) -> None:
        with deferred(tmp_path / name) as held:
            both.wait()
            torch.save(name, tmp_path / name / f"{name}.pt")
            both.wait()
        files[name] = list(held)

    with ThreadPoolExecutor(2) as trainings:
        list(trainings.map(train, ("one", "other")))
    assert files == {"one": ["one.pt"], "other": ["other.pt"]}
    assert torch.save is save


class TooLargeToCopy:
    """As a scheduler is that holds on to an optimizer."""

    def __init__(self) -> None:
        self.value = 1

    def __deepcopy__(self, memo: Any) -> Any:
        raise MemoryError


def test_what_may_be_large_is_not_copied_but_written_into_memory_as_it_is_now(tmp_path: Path) -> None:
    inner = TooLargeToCopy()
    with deferred(tmp_path) as files:
        torch.save({"inner": inner}, tmp_path / "scheduler.pt")
    inner.value = 2
    files["scheduler.pt"](tmp_path / "scheduler.pt")
    with torch.serialization.safe_globals([TooLargeToCopy]):
        assert torch.load(tmp_path / "scheduler.pt", weights_only=True)["inner"].value == 1


def _saved(content: Any) -> bytes:
    file = io.BytesIO()
    torch.save(content, file)
    return file.getvalue()
