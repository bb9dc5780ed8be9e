"""A sample of `make crash-test`: the same fires, fewer of each; and that they would find what they look for."""

import os
import random
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from crash.fires import faults, kills, power_cuts
from crash.flushes import none_of_folders
from crash.life import Way, true_path
from crash.power import LoopDisk, NoLoopDisk, loop_disk
from stallfree.callback import Stallfree
from stallfree.checkpoint.reading import newest_whole
from stallfree.events import Event, Saved
from stallfree.saving.overlapped import OverlappedSaver
from stallfree.saving.saver import PlainSaver
from under_fire import in_a_process, trainer

OURS = [Way("plain", PlainSaver), Way("overlapped", OverlappedSaver)]
each_way = pytest.mark.parametrize("way", OURS, ids=lambda way: way.name)


def _tell_nobody(done: int, of: int) -> None:
    pass


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> dict[int, int]:
    return true_path(tmp_path_factory.mktemp("true"), 12)


@pytest.fixture
def disk() -> Iterator[LoopDisk]:
    try:
        with loop_disk() as made:
            yield made
    except NoLoopDisk as reason:
        pytest.skip(f"no power can be cut here: {reason}")


@each_way
def test_killed_life_after_life_it_stays_on_the_true_path(way: Way, path: dict[int, int], tmp_path: Path) -> None:
    tally = kills(way, tmp_path, path, 4, random.Random(1), _tell_nobody)
    assert tally.fires == 4
    assert (tally.corrupt, tally.lost, tally.passed_over) == (0, 0, 0)


@each_way
def test_failing_calls_cost_no_checkpoint_and_are_not_kept_quiet(
    way: Way, path: dict[int, int], tmp_path: Path
) -> None:
    tally = faults(way, tmp_path, path, _tell_nobody, stride=23)
    assert tally.fires > 3
    assert (tally.corrupt, tally.lost, tally.unnoticed) == (0, 0, 0)


@each_way
def test_power_cut_life_after_life_it_stays_on_the_true_path(way: Way, path: dict[int, int], disk: LoopDisk) -> None:
    tally = power_cuts(way, disk, path, 3, random.Random(1), _tell_nobody)
    assert tally.fires == 3
    assert (tally.corrupt, tally.lost, tally.passed_over) == (0, 0, 0)


def _steps_after_a_cut_at_the_first_acknowledgement(disk: LoopDisk, cripple: Callable[[], None]) -> int:
    out = disk.folder / "out"

    def stand_still_once_saved(event: Event) -> None:
        if isinstance(event, Saved):
            os.kill(os.getpid(), signal.SIGSTOP)

    def train() -> None:
        cripple()
        trainer(out, Stallfree(make_saver=PlainSaver, sink=stand_still_once_saved), save_steps=1).train()

    child = os.fork()
    if child == 0:
        in_a_process(train)()
    _, status = os.waitpid(child, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    disk.cut_power()
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    disk.unmount()
    disk.mount()
    found = newest_whole(out).found if out.is_dir() else None
    return found.step if found else 0


def test_what_is_acknowledged_outlives_a_power_cut_at_that_instant(disk: LoopDisk) -> None:
    assert _steps_after_a_cut_at_the_first_acknowledgement(disk, lambda: None) == 1


def test_without_the_flush_of_its_folder_it_would_not(disk: LoopDisk) -> None:
    """So the test before this one can fail."""
    assert _steps_after_a_cut_at_the_first_acknowledgement(disk, none_of_folders) == 0
