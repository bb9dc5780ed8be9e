from datetime import timedelta

import pytest

from belay.contract.events import Saved
from belay.contract.ledger import Ledger, LedgerEntry
from belay.policy import pumping
from tools.proofs.fakes.world import NOW, RUN


def _save(step: int, identity: str = "a", minutes_ago: float = 1) -> Saved:
    return Saved(
        at=NOW - timedelta(minutes=minutes_ago),
        run=RUN,
        attempt=1,
        step=step,
        path="p",
        files=1,
        bytes=1,
        stall_seconds=0,
        durable_seconds=0,
        manifest_crc64nvme=identity,
    )


def _ledger(*entries: tuple[int, str, bool]) -> Ledger:
    return Ledger(
        run=RUN,
        entries=[
            LedgerEntry(step=step, manifest_crc64nvme=identity, verified_at=NOW if verified else None)
            for step, identity, verified in entries
        ],
    )


@pytest.mark.parametrize(
    ("standing", "ledger", "running", "action"),
    [
        # nothing was saved, or all of it is proven: a running task is nobody's business
        ({}, _ledger(), False, "rest"),
        ({}, _ledger(), True, "rest"),
        ({10: _save(10)}, _ledger((10, "a", True)), False, "rest"),
        ({10: _save(10)}, _ledger((10, "a", True)), True, "rest"),
        # something is not proven
        ({10: _save(10)}, _ledger(), False, "export"),
        ({10: _save(10)}, _ledger((10, "a", False)), False, "export"),
        ({10: _save(10), 20: _save(20)}, _ledger((10, "a", True)), False, "export"),
        ({10: _save(10), 20: _save(20)}, _ledger((20, "a", True)), False, "export"),
        # one task at a time
        ({10: _save(10)}, _ledger(), True, "wait"),
        # the run fell back and saved the step again: the proof was of the earlier save
        ({10: _save(10, "b")}, _ledger((10, "a", True)), False, "export"),
    ],
)
def test_what_the_pump_does_next(standing: dict[int, Saved], ledger: Ledger, running: bool, action: str) -> None:
    due = pumping.due(standing, ledger)
    assert pumping.decide("fs-1", due, task_running=running, now=NOW).action == action


def test_two_pumps_of_one_minute_ask_for_the_same_task_and_a_later_one_for_another() -> None:
    def token(file_system: str, step: int, identity: str, seconds: float) -> str | None:
        due = {step: _save(step, identity)}
        return pumping.decide(file_system, due, task_running=False, now=NOW + timedelta(seconds=seconds)).token

    first = token("fs-1", 10, "a", 0)
    assert token("fs-1", 10, "a", 3) == first
    others = {
        token("fs-2", 10, "a", 0),
        token("fs-1", 20, "a", 0),
        token("fs-1", 10, "b", 0),
        token("fs-1", 10, "a", 60),
    }
    assert len(others - {first}) == 4
    assert all(other and len(other) <= 63 for other in others)


def test_the_oldest_unproven_save_says_how_much_is_at_risk() -> None:
    due = {10: _save(10, minutes_ago=7), 20: _save(20, minutes_ago=2)}
    assert pumping.oldest_seconds(due, NOW) == 7 * 60
    assert pumping.oldest_seconds({}, NOW) == 0


def _proven(step: int, *, written: float, asked: float | None, verified: float) -> LedgerEntry:
    """In minutes before now."""
    written_at, verified_at = (NOW - timedelta(minutes=minutes) for minutes in (written, verified))
    asked_at = None if asked is None else NOW - timedelta(minutes=asked)
    return LedgerEntry(step=step, written_at=written_at, asked_at=asked_at, verified_at=verified_at)


@pytest.mark.parametrize(
    ("entries", "rests"),
    [
        # nothing is proven, or not how long it takes: the sooner the better
        ([], False),
        ([_proven(10, written=5, asked=None, verified=1)], False),
        # 27 of 30 minutes may pass until the next proof; one that begins in a minute takes 4
        ([_proven(10, written=21, asked=20, verified=16)], True),
        ([_proven(10, written=23, asked=20, verified=16)], False),
        # a slower one was seen lately
        ([_proven(5, written=60, asked=59, verified=51), _proven(10, written=21, asked=20, verified=16)], False),
        # not the newest save but the newest state that is safe counts
        ([_proven(5, written=40, asked=39, verified=35), _proven(10, written=10, asked=9, verified=5)], True),
    ],
)
def test_it_rests_while_a_later_export_would_still_be_in_time(entries: list[LedgerEntry], rests: bool) -> None:
    assert pumping.may_rest(Ledger(run=RUN, entries=entries), max_loss_seconds=1800, now=NOW) is rests


def test_resting_begins_nothing_and_a_task_that_runs_is_still_waited_for() -> None:
    due = {10: _save(10)}
    assert pumping.decide("fs-1", due, task_running=False, now=NOW, rests=True).action == "rest"
    assert pumping.decide("fs-1", due, task_running=True, now=NOW, rests=True).action == "wait"
