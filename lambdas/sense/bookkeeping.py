"""The ledger, merged and never overwritten: what was once proven of a save stays written down."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from contract.events import Saved
from contract.ledger import Ledger, LedgerEntry
from contract.paths import RunPrefix
from lambdas.sense.bucket import Bucket
from lambdas.sense.checkpoints import Finding

_NEVER_EXPORTED = "the trainer removed it before it was exported"


def read(bucket: Bucket, prefix: RunPrefix) -> Ledger:
    document = bucket.read(prefix.ledger)
    return Ledger.model_validate_json(document.body) if document else Ledger(run=prefix.run)


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
        return merged(ledger, findings, saves, removed, now).model_dump_json(indent=1).encode()

    return Ledger.model_validate_json(bucket.update(prefix.ledger, change))


def merged(
    ledger: Ledger, findings: Iterable[Finding], saves: Mapping[int, Saved], removed: set[int], now: datetime
) -> Ledger:
    entries = {entry.step: entry for entry in ledger.entries}
    for finding in findings:
        entries[finding.step] = _entry(entries.get(finding.step), finding, saves.get(finding.step), now)
    for step in removed & entries.keys():
        if entries[step].verified_at is None:
            entries[step] = entries[step].model_copy(update={"problem": _NEVER_EXPORTED})
    return ledger.model_copy(update={"entries": [entries[step] for step in sorted(entries)]})


def note_export(bucket: Bucket, prefix: RunPrefix, saves: Mapping[int, Saved], now: datetime) -> None:
    """An export of these saves was begun. How long one takes until it is proven is counted from its first."""

    def change(before: bytes | None) -> bytes:
        ledger = Ledger.model_validate_json(before) if before else Ledger(run=prefix.run)
        return _asked(ledger, saves, now).model_dump_json(indent=1).encode()

    bucket.update(prefix.ledger, change)


def _asked(ledger: Ledger, saves: Mapping[int, Saved], now: datetime) -> Ledger:
    entries = [
        entry.model_copy(update={"asked_at": now})
        if entry.step in saves
        and entry.asked_at is None
        and entry.manifest_crc64nvme == saves[entry.step].manifest_crc64nvme
        else entry
        for entry in ledger.entries
    ]
    return ledger.model_copy(update={"entries": entries})


def note_told(bucket: Bucket, prefix: RunPrefix, what: str, now: datetime) -> None:
    """A person was told this."""

    def change(before: bytes | None) -> bytes:
        ledger = Ledger.model_validate_json(before) if before else Ledger(run=prefix.run)
        return ledger.model_copy(update={"told": {what: now} | ledger.told}).model_dump_json(indent=1).encode()

    bucket.update(prefix.ledger, change)


def is_verified(ledger: Ledger, step: int, save: Saved) -> bool:
    """Of this very save: an earlier one of the same step proves nothing about it."""
    return any(
        entry.step == step and entry.verified_at and entry.manifest_crc64nvme == save.manifest_crc64nvme
        for entry in ledger.entries
    )


def _entry(before: LedgerEntry | None, finding: Finding, save: Saved | None, now: datetime) -> LedgerEntry:
    same = before if before and before.manifest_crc64nvme == finding.manifest_crc64nvme else None
    if same and same.verified_at:
        # The first proof counts. A slower look that began before it saw less, and takes nothing back.
        return same
    return LedgerEntry(
        step=finding.step,
        written_at=finding.written_at or (save.at if save else None),
        asked_at=same.asked_at if same else None,
        exported_at=finding.exported_at if finding.is_whole else None,
        verified_at=now if finding.is_whole else None,
        proof=finding.proof if finding.is_whole else None,
        files=finding.files or (save.files if save else 0),
        bytes=finding.bytes or (save.bytes if save else 0),
        problem=finding.problem,
        manifest_crc64nvme=finding.manifest_crc64nvme,
    )
