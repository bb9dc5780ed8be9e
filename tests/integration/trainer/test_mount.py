"""Nothing is trained on what is not the file system."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from belay.contract.job import Stripe
from containers.trainer.launch import privileges
from containers.trainer.mount import lustre
from tools.local_cloud.settings import HOST_PROGRAMS

from .conftest import Scratch

Program = Callable[[str, str], None]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """Puts a program of one's own first in PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")

    def put(name: str, script: str) -> None:
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)

    return put


def test_it_is_mounted_the_way_lustre_wants_it(program: Program, tmp_path: Path) -> None:
    program("mount", f'echo "$@" > {tmp_path}/called')
    lustre.mount(dns="fs-1.fsx.us-east-1.amazonaws.com", mount_name="abcdef", point=tmp_path / "fsx")
    assert (tmp_path / "called").read_text() == (
        f"-t lustre -o noatime,flock fs-1.fsx.us-east-1.amazonaws.com@tcp:/abcdef {tmp_path}/fsx\n"
    )


def test_a_mount_that_fails_says_what_the_program_said(program: Program, tmp_path: Path) -> None:
    program("mount", 'echo "mount.lustre: no such device" >&2; exit 19')
    with pytest.raises(lustre.MountRefused, match="no such device"):
        lustre.mount(dns="fs-1", mount_name="abcdef", point=tmp_path / "fsx")


def test_a_folder_on_the_root_disk_is_refused(program: Program, tmp_path: Path) -> None:
    program("findmnt", "echo overlay")
    with pytest.raises(lustre.MountRefused, match="is overlay, not lustre"):
        lustre.check(tmp_path)


def test_what_is_no_mount_at_all_is_refused(program: Program, tmp_path: Path) -> None:
    program("findmnt", "exit 1")
    with pytest.raises(lustre.MountRefused):
        lustre.check(tmp_path)


def test_a_file_system_that_does_not_give_back_what_was_written_is_refused(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program("findmnt", "echo lustre")
    monkeypatch.setattr(Path, "read_bytes", lambda self: bytes(64))
    with pytest.raises(lustre.MountRefused, match="other bytes"):
        lustre.check(tmp_path)


def test_a_file_system_that_cannot_be_written_is_refused(program: Program, tmp_path: Path) -> None:
    program("findmnt", "echo lustre")
    with pytest.raises(lustre.MountRefused, match="cannot be written"):
        lustre.check(tmp_path / "absent")


def test_the_probe_file_is_deleted_again(program: Program, tmp_path: Path) -> None:
    program("findmnt", "echo lustre")
    folder = tmp_path / "fsx"
    folder.mkdir()
    lustre.check(folder)
    assert list(folder.iterdir()) == []


def test_storage_targets_are_counted_and_files_spread_over_them(program: Program, tmp_path: Path) -> None:
    program(
        "lfs",
        f"""if [ "$1" = df ]; then
        echo "abcdef-MDT0000_UUID  34418680  5832  34410796  1% /fsx[MDT:0]"
        echo "abcdef-OST0000_UUID  1168351232  7680  1168341504  1% /fsx[OST:0]"
        echo "abcdef-OST0001_UUID  1168351232  7680  1168341504  1% /fsx[OST:1]"
        else echo "$@" > {tmp_path}/called; fi""",
    )
    assert lustre.storage_targets(tmp_path) == 2
    lustre.stripe(tmp_path, Stripe())
    assert (tmp_path / "called").read_text() == f"setstripe --stripe-count -1 --stripe-size 4M {tmp_path}\n"


def test_a_task_whose_mount_is_not_lustre_fails_before_it_trains(scratch: Scratch, program: Program) -> None:
    program("findmnt", "echo ext4")
    scratch.plan({"command": ["touch", "run/trained"]})
    first, others = os.environ["PATH"].split(":", 1)
    task = scratch.start(PATH=":".join([first, str(HOST_PROGRAMS), *scratch.image.programs(), others]))
    assert task.wait() == 1
    assert "is ext4, not lustre" in task.printed[-1]["reason"]
    assert not (scratch.files / "run" / "trained").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can drop privileges")
def test_training_runs_as_a_normal_user_who_can_never_become_more(tmp_path: Path) -> None:
    prefix = privileges.drop_to(10001)
    assert privileges.owner_after(prefix) == 10001
    status = subprocess.run([*prefix, "cat", "/proc/self/status"], capture_output=True, text=True, check=True).stdout
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert fields["Uid"].split() == fields["Gid"].split() == ["10001"] * 4
    assert fields["Groups"].strip() == ""
    assert {fields[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0000000000000000"}
    assert fields["NoNewPrivs"] == "1"
