"""A sample of `make crash-test`: the same faults, fewer of each; and that a lost checkpoint would be noticed."""

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from crash.campaigns import faults, kills, power_cuts
from crash.flushes import none_of_files, none_of_folders
from crash.power import LoopDisk, NoLoopDisk, loop_disk
from crash.training_process import TrainingProcess, Way, reference
from stallfree.checkpoint.search import newest_whole
from stallfree.saving.overlapped import OverlappedSaver
from stallfree.saving.saver import PlainSaver

OURS = [Way("plain", PlainSaver), Way("overlapped", OverlappedSaver)]
each_way = pytest.mark.parametrize("way", OURS, ids=lambda way: way.name)


def _ignore(done: int, of: int) -> None:
    pass


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> dict[int, int]:
    return reference(tmp_path_factory.mktemp("true"), 12)


@pytest.fixture
def disk() -> Iterator[LoopDisk]:
    try:
        with loop_disk() as made:
            yield made
    except NoLoopDisk as reason:
        pytest.skip(f"no power can be cut here: {reason}")


@each_way
def test_killed_again_and_again_it_resumes_in_a_true_state(way: Way, path: dict[int, int], tmp_path: Path) -> None:
    tally = kills(way, tmp_path, path, 4, random.Random(1), _ignore)
    assert tally.faults_injected == 4
    assert (tally.corrupt, tally.lost, tally.rejected) == (0, 0, 0)


@each_way
def test_failing_calls_cost_no_checkpoint_and_are_reported(way: Way, path: dict[int, int], tmp_path: Path) -> None:
    tally = faults(way, tmp_path, path, _ignore, stride=23)
    assert tally.faults_injected > 3
    assert (tally.corrupt, tally.lost, tally.silent) == (0, 0, 0)


@each_way
def test_power_cut_again_and_again_it_resumes_in_a_true_state(way: Way, path: dict[int, int], disk: LoopDisk) -> None:
    tally = power_cuts(way, disk, path, 3, random.Random(1), _ignore)
    assert tally.faults_injected == 3
    assert (tally.corrupt, tally.lost, tally.rejected) == (0, 0, 0)


def _kept_after_a_cut_at_the_first_acknowledgement(way: Way, disk: LoopDisk) -> int | None:
    out = disk.folder / "out"
    process = TrainingProcess(way, out, 12, halt_at_save=1)
    process.begin()
    assert process.wait_until_it_halts()
    disk.cut_power()
    process.kill()
    process.end()
    disk.unmount()
    disk.mount()
    found = newest_whole(out).found if out.is_dir() else None
    return found.step if found else None


@each_way
def test_what_is_acknowledged_outlives_a_power_cut_at_that_instant(way: Way, disk: LoopDisk) -> None:
    assert _kept_after_a_cut_at_the_first_acknowledgement(way, disk) == 1


@each_way
@pytest.mark.parametrize("cripple", [none_of_files, none_of_folders])
def test_without_its_flushes_it_would_not(way: Way, cripple: Callable[[], None], disk: LoopDisk) -> None:
    """So the test before this one can fail."""
    assert _kept_after_a_cut_at_the_first_acknowledgement(replace(way, cripple=cripple), disk) is None
