"""While the file system does not answer, a stop still reaches training at once, and its deadline still ends it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from containers.trainer.mount.answering import MountSilent, answer_within
from containers.trainer.supervision import processes

from .conftest import Scratch, Task
from .silent_mount import NoFuse, SilentMount, silent_mount

# It answers SIGTERM on the local disk, where it can be seen while the mount hangs.
SAVES_ON_SIGTERM = (
    "trap 'touch {local}/signalled; exit 143' TERM\ntouch {local}/ready\nwhile true; do sleep 0.05; done\n"
)
ENDS_WELL_ON_SIGTERM = SAVES_ON_SIGTERM.replace("exit 143", "exit 0")
WAITS_FOR_THE_MOUNT = (
    "trap '' TERM\ntouch {local}/ready\nwhile [ ! -e {local}/silent ]; do sleep 0.05; done\ncat {mount}/data/x\n"
)


@pytest.fixture
def mount(scratch: Scratch) -> Iterator[SilentMount]:
    try:
        with silent_mount() as mount:
            yield mount
    except NoFuse as reason:
        if os.environ.get("CI") == "true":
            pytest.fail(f"a mount that hangs cannot be shown here: {reason}")
        pytest.skip(f"A MOUNT THAT HANGS IS NOT TESTED HERE: {reason}")


def start(scratch: Scratch, tmp_path: Path, script: str, **variables: str) -> Task:
    (scratch.data / "train.sh").write_text(script.format(local=tmp_path, mount=scratch.files))
    scratch.plan({"command": ["bash", "data/train.sh"]})
    task = scratch.start(**variables)
    wait_for(tmp_path / "ready", task, seconds=120)
    return task


def wait_for(file: Path, task: Task, *, seconds: float) -> float:
    began = time.monotonic()
    while not file.exists():
        assert task.process.poll() is None, task.wait()
        assert time.monotonic() - began < seconds, f"no {file.name} within {seconds} seconds"
        time.sleep(0.01)
    return time.monotonic() - began


def test_training_gets_its_signal_within_a_second(scratch: Scratch, mount: SilentMount, tmp_path: Path) -> None:
    task = start(scratch, tmp_path, SAVES_ON_SIGTERM)
    mount.over(scratch.files)
    task.stop()
    wait_for(tmp_path / "signalled", task, seconds=1)
    assert task.wait() == 143
    assert [event["kind"] for event in task.printed][-2:] == ["stopping", "failed"]


def test_training_that_ends_well_on_its_signal_has_not_finished_where_its_checkpoints_cannot_be_listed(
    scratch: Scratch, mount: SilentMount, tmp_path: Path
) -> None:
    task = start(scratch, tmp_path, ENDS_WELL_ON_SIGTERM)
    mount.over(scratch.files)
    task.stop()
    assert task.wait() == 1
    assert "not answered" in task.printed[-1]["reason"]


def test_at_the_deadline_what_waits_for_the_mount_is_killed_and_the_task_ends(
    scratch: Scratch, mount: SilentMount, tmp_path: Path
) -> None:
    task = start(scratch, tmp_path, WAITS_FOR_THE_MOUNT, BELAY_STOP_SECONDS="2")
    mount.over(scratch.files)
    (tmp_path / "silent").touch()
    time.sleep(0.5)
    began = time.monotonic()
    task.stop()
    assert task.wait() == 137
    # The deadline, and what recording the end may take at most; a busy machine adds to it.
    assert 2 <= time.monotonic() - began < 10
    assert "did not end in time" in task.printed[-1]["reason"]


def test_a_process_that_cannot_be_killed_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    # As one that waits in the kernel for a file system: signals do nothing to it.
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        monkeypatch.setattr(processes, "send", lambda number, to: None)
        monkeypatch.setattr(processes, "descendants", lambda: [child.pid])
        began = time.monotonic()
        assert processes.end_descendants(within_seconds=0.2) == [child.pid]
        assert time.monotonic() - began < 5
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()


def test_a_question_to_a_file_system_that_does_not_answer_has_an_end() -> None:
    with pytest.raises(MountSilent, match=r"not answered for 0\.1 seconds"):
        answer_within(0.1, lambda: time.sleep(60))
    assert answer_within(5, lambda: 7) == 7
    with pytest.raises(OSError, match="gone"):
        answer_within(5, lambda: raises(OSError("gone")))


def raises(error: Exception) -> None:
    raise error
