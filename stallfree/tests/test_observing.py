"""What is interfered of each save: where its time went, and what it cost the steps that went on meanwhile."""

import logging
import time
from typing import Any

import pytest
from stallfree.cadence import EverySteps
from stallfree.callback import Stallfree
from stallfree.checkpoint.timing import Timing, phase
from stallfree.direct_io import writing
from stallfree.events import Event, Interfered, Saved
from stallfree.saving.overlapped import OverlappedSaver
from stallfree.training.record import table_of
from stallfree.training.step_times import StepTimes


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_each_second_of_a_save_counts_once_for_its_innermost_phase() -> None:
    clock = Clock()
    timing = Timing(clock=clock)
    with phase("fsync"):
        clock.now += 1000
    with timing.recording(), phase("write"):
        clock.now += 3
        with phase("commit"):
            clock.now += 4
            with phase("fsync"):
                clock.now += 5
            clock.now += 6
        clock.now += 7
    assert {name: timing.seconds(name) for name in ("copy", "write", "fsync", "commit")} == {
        "copy": None,
        "write": 10,
        "fsync": 5,
        "commit": 10,
    }


def steps_of(clock: Clock, *seconds: float, steps: StepTimes, under_way: int | None = None) -> list[Interfered]:
    interfered: list[Interfered] = []
    for one in seconds:
        clock.now += one
        interfered += steps.done(under_way=under_way)
    return interfered


def test_interference_is_what_the_steps_under_a_save_took_beyond_quiet_ones() -> None:
    clock = Clock()
    steps = StepTimes(clock=clock)
    steps.begin()
    assert steps_of(clock, 50, 1.0, 3.0, 1.0, 1.0, steps=steps) == []
    assert steps.typical_seconds == 1.0, "the first step builds what later ones find ready"
    steps.save_began(5)
    assert steps_of(clock, 1.5, 1.25, steps=steps, under_way=5) == []
    # It ended within this one.
    assert steps_of(clock, 1.25, steps=steps) == [Interfered(step=5, seconds=1.0, steps=3)]
    assert steps_of(clock, 1.0, steps=steps) == []
    assert (steps.typical_seconds, steps.slowest_seconds) == (1.0, 3.0)


def test_a_step_with_an_evaluation_in_it_is_neither_quiet_nor_slowed_by_a_save() -> None:
    clock = Clock()
    steps = StepTimes(clock=clock)
    steps.begin()
    steps_of(clock, 1, 1, 1, steps=steps)
    steps.disturbed()
    steps_of(clock, 60, steps=steps)
    assert steps.slowest_seconds == 1
    steps.save_began(4)
    steps.disturbed()
    assert steps_of(clock, 60, steps=steps, under_way=4) == []
    assert steps_of(clock, 2, steps=steps) == [Interfered(step=4, seconds=1.0, steps=1)]


def saved(step: int, **measured: float) -> Saved:
    values: dict[str, Any] = {"stall_seconds": 0.01, "durable_seconds": 2.0, "bytes": 4_000_000_000, **measured}
    return Saved(step=step, path="", files=1, manifest_crc64nvme="", **values)


def test_the_table_shows_what_is_known_and_medians() -> None:
    table = table_of([saved(5, copy_seconds=0.2), saved(10), saved(15, durable_seconds=1.0)], {5: 0.125})
    assert table.splitlines() == [
        "  step  stall s  copy s  write s  fsync s  commit s  durable s     GB   GB/s  steps slower by s",
        "     5    0.010   0.200        -        -         -      2.000  4.000  2.000              0.125",
        "    10    0.010       -        -        -         -      2.000  4.000  2.000                  -",
        "    15    0.010       -        -        -         -      1.000  4.000  4.000                  -",
        "median    0.010   0.200        -        -         -      2.000  4.000  2.000              0.125",
    ]


def test_the_table_of_a_long_training_stays_small() -> None:
    lines = table_of([saved(step) for step in range(1, 1001)], {}).splitlines()
    assert len(lines) == 13 and lines[1] == "... 990 earlier ones"
    assert lines[2].split()[0] == "991" and lines[-2].split()[0] == "1000"


@pytest.mark.usefixtures("each_saver")
def test_the_phases_of_a_save_are_reported_and_are_within_its_whole(
    make_trainer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    events: list[Event] = []
    with caplog.at_level(logging.INFO, logger="stallfree"):
        make_trainer(Stallfree(cadence=EverySteps(8), sink=events.append)).train()
    saves = [event for event in events if isinstance(event, Saved)]
    for event in saves:
        phases = [event.copy_seconds or 0.0, event.write_seconds, event.fsync_seconds, event.commit_seconds]
        assert all(seconds is not None and seconds >= 0 for seconds in phases) and all(phases[1:])
        assert sum(phases) <= event.durable_seconds  # type: ignore[arg-type]  # none is None
    tables = [record.getMessage() for record in caplog.records if "The checkpoints of this training" in record.msg]
    assert len(tables) == 1
    assert [line.split()[0] for line in tables[0].splitlines()[2:]] == ["8", "16", "24", "median"]


def test_steps_that_a_save_slows_down_are_reported_with_it(make_trainer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test's writer takes the time of training itself, as a thread that holds the processor would."""
    write, events = writing.write_durably, list[Event]()
    late = 0.05

    def slow(trainer: Any) -> None:
        step = trainer.training_step

        def training_step(*args: Any) -> Any:
            if trainer.state.global_step == 8:
                time.sleep(late)
            return step(*args)

        trainer.training_step = training_step

    def write_while_a_step_runs(*args: Any) -> None:
        time.sleep(late)
        write(*args)

    monkeypatch.setattr(writing, "write_durably", write_while_a_step_runs)
    trainer = make_trainer(Stallfree(cadence=EverySteps(8), make_saver=OverlappedSaver, sink=events.append))
    slow(trainer)
    trainer.train()
    interfered = {event.step: event for event in events if isinstance(event, Interfered)}
    assert interfered[8].steps >= 1 and interfered[8].seconds > late / 2
    assert {event.step for event in events if isinstance(event, Saved)} >= interfered.keys()


def test_nothing_saved_is_no_table(make_trainer: Any, caplog: pytest.LogCaptureFixture) -> None:
    trainer = make_trainer(Stallfree(), max_steps=1)

    def broken(*args: Any) -> Any:
        raise RuntimeError("before the first save")

    trainer.training_step = broken
    with caplog.at_level(logging.INFO, logger="stallfree"), pytest.raises(RuntimeError):
        trainer.train()
    assert "checkpoints of this training" not in caplog.text
