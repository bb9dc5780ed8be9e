"""What people and scripts do to the folders of a training, and what it must not cost."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from stallfree.callback import Stallfree
from stallfree.checkpoint import store
from stallfree.saving.saver import PlainSaver
from watching import At, fast


def steps_in(out: Path) -> list[int]:
    return sorted(int(path.name[11:]) for path in out.glob("checkpoint-*"))


def test_a_checkpoint_that_cannot_be_removed_stays_and_training_goes_on(
    make_trainer: Any, out: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    delete = store._delete

    def refuse(path: Path) -> None:
        if path.name == "removed-8":
            raise PermissionError(13, "Permission denied", str(path))
        delete(path)

    monkeypatch.setattr(store, "_delete", refuse)
    make_trainer(fast(keep=1)).train()
    assert steps_in(out) == [24]
    assert "checkpoint-8 could not be removed" in caplog.text


def test_a_staging_folder_that_someone_tidied_away_is_made_again(make_trainer: Any, out: Path) -> None:
    tidying = At("on_step_end", {12}, lambda **_: shutil.rmtree(out / ".staging"))
    make_trainer(fast(make_saver=PlainSaver), tidying).train()
    assert steps_in(out) == [8, 16, 24]


def test_a_script_may_go_to_another_folder_while_it_trains(
    make_trainer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    go = At("on_step_end", {8, 12}, lambda **_: os.chdir(tmp_path / "elsewhere"))
    make_trainer(fast(), go, output_dir="checkpoints").train()
    assert steps_in(tmp_path / "checkpoints") == [8, 16, 24]


def test_staging_on_another_file_system_is_refused_before_training(make_trainer: Any, tmp_path: Path) -> None:
    shared_memory = Path("/dev/shm", tmp_path.name)
    try:
        with pytest.raises(ValueError, match="on the same file system"):
            make_trainer(Stallfree(staging=shared_memory)).train()
    finally:
        shutil.rmtree(shared_memory)
