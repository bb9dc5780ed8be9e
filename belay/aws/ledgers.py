"""A run's ledger in S3. Merged at the moment of writing, so that pump and teardown cannot undo each other's work."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from belay.aws.bucket import Bucket
from belay.aws.exceptions import Overtaken
from belay.contract.events import Saved
from belay.contract.ledger import Ledger
from belay.contract.paths import RunPrefix
from belay.policy.ledgers import Finding, document, document_with, merged, recent, with_reading

_TRIES = 8


def read(bucket: Bucket, prefix: RunPrefix) -> Ledger:
    found = bucket.read(prefix.ledger)
    return Ledger.model_validate_json(found.body) if found else Ledger(run=prefix.run)


def record(
    bucket: Bucket,
    prefix: RunPrefix,
    findings: list[Finding],
    saves: Mapping[int, Saved],
    removed: set[int],
    now: datetime,
) -> Ledger:
    """Merge into what is there at the moment of writing, so that pump and teardown cannot undo each other's work."""

    def change(before: bytes | None) -> bytes:
        ledger = Ledger.model_validate_json(before) if before else Ledger(run=prefix.run)
        return document(merged(ledger, findings, saves, removed, now))

    return Ledger.model_validate_json(bucket.update(prefix.ledger, change))


def record_reading(
    bucket: Bucket, prefix: RunPrefix, step: int, save: str | None, problem: str | None, now: datetime
) -> Ledger:
    """Nothing is written for a run whose ledger was removed."""
    if not bucket.exists(prefix.ledger):
        return Ledger(run=prefix.run)

    def change(before: bytes | None) -> bytes:
        ledger = Ledger.model_validate_json(before) if before else Ledger(run=prefix.run)
        return document(with_reading(ledger, step, save, problem, now))

    return Ledger.model_validate_json(bucket.update(prefix.ledger, change))


@dataclass(frozen=True)
class RecentLedger:
    """The part of a ledger that decides for some steps, as it is in the document with this ETag.

    A ledger has a line for each save of a run's life. Reading all of it each minute would cost more each day.
    """

    bucket: Bucket
    prefix: RunPrefix
    steps: Collection[int]
    ledger: Ledger
    etag: str | None

    def changed(self, change: Callable[[Ledger], Ledger]) -> "RecentLedger":
        """With this change written down; made again from what another wrote meanwhile."""
        if change(self.ledger) == self.ledger:
            return self
        for _ in range(_TRIES):
            found = self.bucket.read(self.prefix.ledger)
            body, after = self._changed(found.body if found else None, found.etag if found else None, change)
            if found and found.body == body:
                return self._with(after, found.etag)
            etag = self.bucket.write_if(self.prefix.ledger, body, found.etag if found else None)
            if etag:
                return self._with(after, etag)
        raise Overtaken(f"{self.bucket.uri(self.prefix.ledger)} was written by others {_TRIES} times in a row")

    def _changed(
        self, before: bytes | None, etag: str | None, change: Callable[[Ledger], Ledger]
    ) -> tuple[bytes, Ledger]:
        after = change(self.ledger)
        # What is no longer proven was perhaps the newest proof: only the whole ledger knows the one before.
        if before and etag == self.etag and _proven(self.ledger) <= _proven(after):
            body = document_with(before, after, known=self.ledger)
            if body:
                return body, after
        after = change(Ledger.model_validate_json(before) if before else Ledger(run=self.prefix.run))
        return document(after), after

    def _with(self, ledger: Ledger, etag: str) -> "RecentLedger":
        return RecentLedger(self.bucket, self.prefix, self.steps, recent(ledger, self.steps), etag)


def read_recent(
    bucket: Bucket, prefix: RunPrefix, steps: Collection[int], known: Ledger | None, etag: str | None
) -> RecentLedger:
    """What is known of it, if it was not written since."""
    found = bucket.read_if_changed(prefix.ledger, etag if known else None)
    if found == "unchanged":
        assert known is not None, "only a ledger that is known can be unchanged"
        return RecentLedger(bucket, prefix, steps, known, etag)
    ledger = Ledger.model_validate_json(found.body) if found else Ledger(run=prefix.run)
    return RecentLedger(bucket, prefix, steps, recent(ledger, steps), found.etag if found else None)


def _proven(ledger: Ledger) -> set[int]:
    return {entry.step for entry in ledger.entries if entry.verified_at}
