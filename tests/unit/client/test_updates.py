from belay.client.history import Entered, Trouble
from belay.client.progress import Snapshot
from belay.client.updates import updates
from belay.contract.ledger import Ledger, LedgerEntry
from tests.unit.client.samples import RUN, at, proven, saved, step


def test_the_first_look_tells_everything_in_the_order_in_which_it_happened() -> None:
    snapshot = Snapshot(
        "RUNNING",
        entered=[Entered(at(1), "Train"), Entered(at(9), "Verify", teardown=True)],
        troubles=[Trouble(at(8), "States.TaskFailed", "Essential container exited")],
        events=[saved(20, seconds=5), step(21, seconds=6)],
        ledger=Ledger(run=RUN, entries=[proven(20, seconds=7)]),
    )

    assert [(item.kind, item.text) for item in updates(None, snapshot)] == [
        ("state", "Train"),
        ("trainer", "saved step 20: 9 files, 1.2 MB, training waited 3.4 ms"),
        ("verified", "step 20 is proven in S3 (crc64nvme)"),
        ("trouble", "States.TaskFailed: Essential container exited"),
        ("teardown", "Verify"),
    ]


def test_a_later_look_tells_only_what_came_in_between() -> None:
    before = Snapshot("RUNNING", entered=[Entered(at(1), "Train")], events=[saved(20, seconds=5)])
    after = Snapshot("RUNNING", entered=[Entered(at(1), "Train")], events=[saved(20, seconds=5), saved(40, seconds=9)])

    assert [item.text for item in updates(before, after)] == ["saved step 40: 9 files, 1.2 MB, training waited 3.4 ms"]
    assert updates(after, after) == []


def test_a_line_that_came_late_is_still_told() -> None:
    before = Snapshot("RUNNING", events=[saved(40, seconds=9)])
    after = Snapshot("RUNNING", events=[saved(20, seconds=5), saved(40, seconds=9)])

    assert [item.text for item in updates(before, after)] == ["saved step 20: 9 files, 1.2 MB, training waited 3.4 ms"]


def test_a_state_that_is_entered_again_is_told_again() -> None:
    before = Snapshot("RUNNING", entered=[Entered(at(1), "Train")])
    after = Snapshot("RUNNING", entered=[Entered(at(1), "Train"), Entered(at(60), "Train")])

    assert [item.at for item in updates(before, after)] == [at(60)]


def test_a_checkpoint_that_is_not_proven_is_not_told_as_proven() -> None:
    ledger = Ledger(run=RUN, entries=[LedgerEntry(step=20, problem="model.safetensors: missing in S3")])

    assert updates(None, Snapshot("RUNNING", ledger=ledger)) == []
