"""Which proven checkpoints are read again, and in which order. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from belay.contract.ledger import LedgerEntry
from belay.contract.paths import RunPrefix, checkpoint_folder
from belay.contract.reread import Place
from belay.policy.notices import Notice

# None is read again sooner, however little there is to read.
REST = timedelta(days=30)


@dataclass(frozen=True)
class Proven:
    """A checkpoint that was verified once."""

    prefix: RunPrefix
    entry: LedgerEntry

    @property
    def name(self) -> str:
        return f"{self.prefix.job}/{self.prefix.run}/{checkpoint_folder(self.entry.step)}"

    @property
    def last_read(self) -> datetime:
        """To be verified it was compared by S3's own checksum, or its size: that counts as read."""
        last = self.entry.read_again_at or self.entry.verified_at
        assert last is not None, "only what is verified is read again"
        return last

    def has(self, place: Place) -> bool:
        mine = (self.prefix.job, self.prefix.run, self.entry.step, self.entry.manifest_crc64nvme)
        return mine == (place.job, place.run, place.step, place.manifest_crc64nvme)


def due(proven: Iterable[Proven], stopped_at: Place | None, now: datetime) -> list[Proven]:
    """First the one that a round stopped in, then those whose last reading is longest ago. A damaged one is looked at
    in each round: what is restored or removed is damaged no more."""
    found = [one for one in proven if one.entry.damage or now - one.last_read >= REST]

    def rank(one: Proven) -> tuple[bool, bool, datetime]:
        return (not (stopped_at and one.has(stopped_at)), one.entry.damage is None, one.last_read)

    return sorted(found, key=rank)


def notice(one: Proven, problem: str, last_whole_step: int | None) -> Notice:
    return Notice(
        subject="Belay found a damaged checkpoint",
        job=one.prefix.job,
        run=one.prefix.run,
        reason=f"step {one.entry.step} was proven in S3, was read again, and is damaged: {problem}."
        " No run resumes from it any more.",
        last_verified_step=last_whole_step,
        next_command=f"belay checkpoints ls {one.prefix.run}",
        chapter="CheckpointDamaged",
    )
