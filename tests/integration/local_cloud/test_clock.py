"""Compressed time for a server, virtual time for tests."""

from __future__ import annotations

import pytest

from tools.local_cloud.clock import CompressedClock, VirtualClock


def test_a_virtual_clock_runs_what_is_due_in_order_and_nothing_else() -> None:
    clock, done = VirtualClock(start=0), []
    clock.after(20, lambda: done.append(("late", clock.now())))
    clock.after(10, lambda: clock.after(5, lambda: done.append(("nested", clock.now()))))

    clock.advance(9)
    assert done == []
    clock.advance(11)
    assert done == [("nested", 15), ("late", 20)]
    assert clock.now() == 20


def test_a_minute_takes_a_second_at_a_scale_of_sixty() -> None:
    assert CompressedClock(time_scale=60).real_seconds(60) == 1


def test_a_time_scale_of_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="time_scale: 0 is not a speed"):
        CompressedClock(time_scale=0)
