"""Which checkpoints are read again first."""

from datetime import UTC, datetime, timedelta

from belay.contract.ledger import LedgerEntry
from belay.contract.paths import RunPrefix
from belay.contract.reread import Place
from belay.policy.rereading import REST, Proven, due

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def proven(step: int, *, days: float, read_days: float | None = None, damage: str | None = None) -> Proven:
    """Verified and, if given, read again so many days ago."""
    read_at = None if read_days is None else NOW - timedelta(days=read_days)
    verified_at = NOW - timedelta(days=days)
    entry = LedgerEntry(
        step=step, verified_at=verified_at, read_again_at=read_at, damage=damage, manifest_crc64nvme="m"
    )
    return Proven(RunPrefix("job", "run"), entry)


def place(step: int, *, save: str = "m") -> Place:
    return Place(job="job", run="run", step=step, manifest_crc64nvme=save, path="a", offset=1, crc64nvme=0)


def steps(*found: Proven, stopped_at: Place | None = None) -> list[int]:
    return [one.entry.step for one in due(found, stopped_at, NOW)]


def test_the_longest_unread_comes_first_and_what_was_read_within_a_month_not_at_all() -> None:
    fresh = proven(3, days=400, read_days=REST.days - 1)
    assert steps(proven(1, days=40), proven(2, days=400, read_days=50), fresh) == [2, 1]


def test_what_a_round_stopped_in_comes_before_everything_else() -> None:
    others = (proven(1, days=400), proven(2, days=300, damage="rot"), proven(3, days=40))
    assert steps(*others, stopped_at=place(3)) == [3, 2, 1]
    # The same step of another save is another checkpoint.
    assert steps(*others, stopped_at=place(3, save="other")) == [2, 1, 3]


def test_what_is_damaged_is_looked_at_in_each_round() -> None:
    assert steps(proven(1, days=400, read_days=1, damage="rot")) == [1]
