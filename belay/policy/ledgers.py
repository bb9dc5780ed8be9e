"""The ledger, merged and never overwritten: what was once proven of a save stays written down. Pure."""

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from belay.contract.events import Saved
from belay.contract.ledger import Ledger, LedgerEntry, Proof

_ENTRY = re.compile(rb'  (\{"step":([0-9]+),.*\}),?')
# How many exports say how long the next one will take.
LAST_FEW = 5
_NEVER_EXPORTED = "the trainer removed it before it was exported"


@dataclass(frozen=True)
class Finding:
    """What S3 holds of one checkpoint; whole unless there is a problem."""

    step: int
    problem: str | None
    manifest_crc64nvme: str | None = None
    written_at: datetime | None = None
    exported_at: datetime | None = None
    files: int = 0
    bytes: int = 0
    proof: Proof | None = None

    @property
    def is_whole(self) -> bool:
        return self.problem is None


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


def with_export(ledger: Ledger, saves: Mapping[int, Saved], now: datetime) -> Ledger:
    entries = [
        entry.model_copy(update={"asked_at": now})
        if entry.step in saves
        and entry.asked_at is None
        and entry.manifest_crc64nvme == saves[entry.step].manifest_crc64nvme
        else entry
        for entry in ledger.entries
    ]
    return ledger.model_copy(update={"entries": entries})


def with_told(ledger: Ledger, what: Iterable[str], now: datetime) -> Ledger:
    """These notices were sent."""
    return ledger.model_copy(update={"told": dict.fromkeys(what, now) | ledger.told})


def with_reading(ledger: Ledger, step: int, save: str | None, problem: str | None, now: datetime) -> Ledger:
    """This very save was read again; it is damaged if there is a problem."""

    def read(entry: LedgerEntry) -> LedgerEntry:
        if (entry.step, entry.manifest_crc64nvme) != (step, save):
            return entry
        since = (entry.damaged_since or now) if problem else None
        return entry.model_copy(update={"read_again_at": now, "damage": problem, "damaged_since": since})

    return ledger.model_copy(update={"entries": [read(entry) for entry in ledger.entries]})


def is_verified(ledger: Ledger, step: int, save: Saved) -> bool:
    """Of this very save: an earlier one of the same step proves nothing about it."""
    return any(
        entry.step == step and entry.verified_at and entry.manifest_crc64nvme == save.manifest_crc64nvme
        for entry in ledger.entries
    )


def recent(ledger: Ledger, steps: Collection[int]) -> Ledger:
    """The same ledger for a decision about these steps: what is old and proven is left out."""
    proven = [entry for entry in ledger.entries if entry.verified_at]
    timed = [entry for entry in proven if entry.asked_at]
    newest = sorted((one for one in proven if one.written_at), key=lambda one: (one.written_at, one.step))
    kept = {entry.step for entry in (*timed[-LAST_FEW:], *proven[-1:], *newest[-1:])} | set(steps)
    return ledger.model_copy(update={"entries": [entry for entry in ledger.entries if entry.step in kept]})


def document(ledger: Ledger) -> bytes:
    """One line for each entry, so that a change of one need not read the others."""
    return _document(ledger, {entry.step: entry.model_dump_json().encode() for entry in ledger.entries})


def document_with(before: bytes, part: Ledger, *, known: Ledger) -> bytes | None:
    """The document with these entries, made from those that were known of it, in place of their former ones.

    None if that needs more than its lines: another form, or an entry of which the part did not know.
    """
    lines = before.split(b"\n")
    try:
        begin, end = lines.index(b' "entries": [') + 1, lines.index(b" ],")
    except ValueError:
        return None
    found = [_ENTRY.fullmatch(line) for line in lines[begin:end]]
    entries = {int(match[2]): match[1] for match in found if match}
    added = {entry.step for entry in part.entries} - {entry.step for entry in known.entries}
    if len(entries) != end - begin or added & entries.keys():
        return None
    return _document(part, entries | {entry.step: entry.model_dump_json().encode() for entry in part.entries})


def _document(ledger: Ledger, entries: Mapping[int, bytes]) -> bytes:
    told = ledger.model_dump_json(include={"told"})[1:-1].encode()
    head = b'{\n "run": ' + json.dumps(ledger.run).encode() + b',\n "entries": [\n'
    return head + b",\n".join(b"  " + entries[step] for step in sorted(entries)) + b"\n ],\n " + told + b"\n}\n"


def _entry(before: LedgerEntry | None, finding: Finding, save: Saved | None, now: datetime) -> LedgerEntry:
    same = before if before and before.manifest_crc64nvme == finding.manifest_crc64nvme else None
    if same and same.verified_at:
        # The first proof counts. A slower look that began before it saw less, and takes nothing back.
        return same
    return LedgerEntry(
        step=finding.step,
        node=save.node if save else same.node if same else 0,
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
