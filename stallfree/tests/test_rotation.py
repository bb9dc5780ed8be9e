"""What rotation takes, and what it never takes."""

import pytest
from hypothesis import given
from hypothesis import strategies as some
from stallfree.checkpoint.rotation import to_remove

STEPS = some.sets(some.integers(min_value=1, max_value=60), min_size=1)


def test_the_oldest_go_first() -> None:
    assert to_remove([10, 20, 30, 40], newest=40, keep=2) == [10, 20]


def test_the_best_stays_and_takes_up_one_place() -> None:
    assert to_remove([10, 20, 30, 40], newest=40, keep=2, protected={10}) == [20, 30]


@pytest.mark.parametrize("keep", [None, 0, -1])
def test_without_a_limit_all_stay_and_none_is_what_the_trainer_takes_for_none(keep: int | None) -> None:
    assert to_remove([10, 20, 30], newest=30, keep=keep) == []


def test_steps_above_the_newest_commit_neither_count_nor_go() -> None:
    # 100 was found broken, and training resumed below it.
    assert to_remove([10, 20, 30, 100], newest=30, keep=3) == []


@given(steps=STEPS, keep=some.integers(min_value=1, max_value=5), data=some.data())
def test_the_newest_commit_and_the_protected_are_never_removed(
    steps: set[int], keep: int, data: some.DataObject
) -> None:
    newest = data.draw(some.sampled_from(sorted(steps)))
    protected = data.draw(some.sets(some.sampled_from(sorted(steps)), max_size=2))
    removed = to_remove(steps, newest=newest, keep=keep, protected=protected)
    assert newest not in removed and not protected & set(removed)
    left = [step for step in steps if step <= newest and step not in removed]
    assert len(left) <= max(keep, 1 + len(protected))
