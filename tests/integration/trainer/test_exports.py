"""What the trainer's side sees of the export: the marks of files, and when they came."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from _belay_hook import exports
from _belay_hook.exports import Exports, Unseen, exported

from tools.local_cloud.settings import HOST_PROGRAMS

Lfs = Callable[[str], None]


@pytest.fixture
def lfs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lfs:
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")

    def put(script: str) -> None:
        program = tmp_path / "bin" / "lfs"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)

    return put


def test_a_file_counts_when_it_is_archived_and_was_not_changed_since(lfs: Lfs, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("new", "exported", "changed", "released", "removed: (0x1) archived")]
    lfs(
        f"""[ "$1" = hsm_state ] || exit 2
        echo '{files[0]}: (0x00000000)'
        echo '{files[1]}: (0x00000009) exists archived, archive_id:1'
        echo '{files[2]}: (0x0000000b) exists dirty archived, archive_id:1'
        echo '{files[3]}: (0x0000000d) released exists archived, archive_id:1'
        echo 'cannot open: No such file or directory' >&2; exit 2"""
    )
    assert exported(files) == {files[1], files[3]}


def test_one_file_that_was_removed_meanwhile_is_no_reason_to_give_up(lfs: Lfs, tmp_path: Path) -> None:
    lfs("echo 'No such file or directory' >&2; exit 2")
    assert exported([tmp_path / "removed"]) == set()


def test_a_file_system_that_hangs_is_looked_at_again_later(
    lfs: Lfs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "_PATIENCE_SECONDS", 0.2)
    lfs("exec sleep 60")
    assert exported([tmp_path]) == set()


@pytest.mark.parametrize("script", ["echo 'Inappropriate ioctl for device' >&2; exit 1", None])
def test_a_file_system_that_does_not_show_it_is_said(
    lfs: Lfs, tmp_path: Path, script: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if script:
        lfs(script)
    else:
        monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "file").touch()
    with pytest.raises(Unseen):
        exported([tmp_path / "file"])


def test_the_newest_exported_step_is_reported_once_and_replaces_those_before(lfs: Lfs, tmp_path: Path) -> None:
    reported: list[int] = []
    first, second = threading.Event(), threading.Event()

    def arrived(step: int) -> None:
        reported.append(step)
        (first if len(reported) == 1 else second).set()

    marks = tmp_path / "archived"
    marks.touch()
    lfs(
        f'shift; for file in "$@"; do if grep -qx "$file" {marks};'
        ' then echo "$file: (0x00000009) exists archived, archive_id:1"; else echo "$file: (0x00000000)"; fi; done'
    )

    def mark(*steps: int) -> None:
        lines = [f"{tmp_path}/checkpoint-{step}/checkpoint.manifest.json" for step in steps]
        (tmp_path / "new").write_text("\n".join(lines))
        (tmp_path / "new").rename(marks)

    watched = Exports(arrived, look_every_seconds=0.02)
    for step in (5, 10, 15):
        watched.saved(step, tmp_path / f"checkpoint-{step}")
    watched.removed(5)
    mark(5, 10)
    assert first.wait(60)
    mark(5, 10, 15)
    assert second.wait(60)
    watched.close()
    assert reported == [10, 15]


def test_on_the_local_cloud_it_sees_what_was_exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{HOST_PROGRAMS}:{os.environ['PATH']}")
    monkeypatch.setenv("BELAY_LOCAL_FILE_SYSTEMS", str(tmp_path / "systems"))
    folder = tmp_path / "systems" / "fs-1-abcd" / "run"
    folder.mkdir(parents=True)
    (tmp_path / "fsx").symlink_to(folder.parent)
    files = [tmp_path / "fsx" / "run" / name for name in ("exported", "new")]
    for file in files:
        file.write_text("x")
    (tmp_path / "systems" / "fs-1-abcd.exported").write_text(f"{files[0].stat().st_ino} 1 run/exported\n")
    assert exported(files) == {files[0]}
