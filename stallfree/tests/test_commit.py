"""The commit protocol, killed at every line, and what it leaves on the disk."""

import os
from pathlib import Path

import pytest
from killing import kill_everywhere
from stallfree.checkpoint import manifest, store
from stallfree.checkpoint.search import newest_whole
from stallfree.checkpoint.store import Store


@pytest.fixture
def folders(tmp_path: Path) -> Store:
    made = Store(checkpoints=tmp_path / "checkpoints", staging=tmp_path / "staging")
    made.open()
    return made


def save(folders: Store, step: int, content: str = "weights") -> None:
    staged = folders.stage(step)
    (staged / "model.safetensors").write_text(f"{content} of {step}")
    (staged / "deep").mkdir()
    (staged / "deep" / "optimizer.pt").write_text(f"{content} moments of {step}")
    folders.commit(step)


def content_of(path: Path) -> tuple[str, str]:
    return (path / "model.safetensors").read_text(), (path / "deep" / "optimizer.pt").read_text()


def test_a_save_killed_at_any_line_leaves_the_older_checkpoint_or_the_new_one_whole(folders: Store) -> None:
    save(folders, 10)

    def check() -> None:
        search = newest_whole(folders.checkpoints)
        assert search.rejected == [], "only whole checkpoints ever stand there"
        assert search.found is not None and search.found.step in (10, 20)
        if search.found.step == 20:
            folders.remove(20)

    lines = kill_everywhere(lambda: save(folders, 20), check)
    assert lines > 40, "the kills must have reached into the commit"


@pytest.mark.parametrize("can_exchange", [True, False])
def test_saving_a_step_again_killed_at_any_line_never_mixes_old_and_new(
    folders: Store, can_exchange: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not can_exchange:
        monkeypatch.setattr(store, "exchange", lambda one, other: False)
    save(folders, 10, "old")
    seen = set()

    def check() -> None:
        folders.open()
        search = newest_whole(folders.checkpoints)
        assert search.found is not None and search.rejected == []
        content = content_of(search.found.path)
        assert content in [(f"{age} of 10", f"{age} moments of 10") for age in ("old", "new")]
        seen.add(content[0])
        save(folders, 10, "old")

    kill_everywhere(lambda: save(folders, 10, "new"), check)
    assert seen == {"old of 10", "new of 10"}


def test_removing_killed_at_any_line_never_shows_half_a_checkpoint(folders: Store) -> None:
    save(folders, 10)
    save(folders, 20)

    def check() -> None:
        assert newest_whole(folders.checkpoints).found is not None
        assert set(folders.steps()) >= {20}
        for step in folders.steps():
            manifest.verify(folders.path(step))
        folders.open()
        if 10 not in folders.steps():
            save(folders, 10)

    assert kill_everywhere(lambda: folders.remove(10), check) > 3


def test_what_a_killed_save_left_in_staging_is_gone_after_opening(folders: Store) -> None:
    (folders.stage(10) / "model.safetensors").write_text("half")
    folders.open()
    assert list(folders.staging.iterdir()) == []


def test_a_broken_checkpoint_of_the_same_step_is_replaced(folders: Store) -> None:
    save(folders, 10, "old")
    (folders.path(10) / "model.safetensors").unlink()
    save(folders, 10, "new")
    found = newest_whole(folders.checkpoints).found
    assert found is not None and content_of(found.path)[0] == "new of 10"


def test_everything_is_flushed_before_the_manifest_and_the_manifest_before_the_rename(
    folders: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    real_fsync, real_rename, real_write = os.fsync, Path.rename, Path.write_text

    def fsync(handle: int) -> None:
        order.append("flush " + Path(f"/proc/self/fd/{handle}").readlink().name)
        real_fsync(handle)

    def rename(self: Path, target: Path) -> Path:
        order.append(f"rename to {Path(target).name}")
        return real_rename(self, target)

    def write_text(self: Path, text: str) -> int:
        order.append(f"write {self.name}")
        return real_write(self, text)

    staged = folders.stage(10)
    (staged / "model.safetensors").write_text("weights")
    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "rename", rename)
    monkeypatch.setattr(Path, "write_text", write_text)
    folders.commit(10)
    assert order == [
        "flush model.safetensors",
        "flush checkpoint-10",
        "write checkpoint.manifest.json",
        "flush checkpoint.manifest.json",
        "flush checkpoint-10",
        "rename to checkpoint-10",
        "flush checkpoints",
        "flush staging",
    ]
