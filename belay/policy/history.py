"""events.jsonl: what the trainer said and what Belay did, in one order. Lines are only ever added."""

import json
from collections.abc import Iterable
from typing import Any

from belay.contract.certificate import Certificate
from belay.contract.events import Certified, Event, Exported, Saved, Verified
from belay.contract.ledger import Ledger, LedgerEntry
from belay.policy.trainer_log import TrainerLog


def merged(*sources: Iterable[str]) -> bytes:
    """Every line of every source once, by its time. A line that a kill tore in two is no line."""
    lines = (_without_metrics(line) for source in sources for line in source)
    moments = {line: moment for line in lines if (moment := _moment(line))}
    return "".join(f"{line}\n" for line in sorted(moments, key=lambda line: moments[line])).encode()


def of_belay(ledger: Ledger, log: TrainerLog, certificate: Certificate) -> list[str]:
    """What Belay itself did for the run."""
    saves = {line.event.step: line.event for line in log.lines if isinstance(line.event, Saved)}
    last_attempt = max((line.event.attempt for line in log.lines), default=0)
    events: list[Event] = [
        event for entry in ledger.entries for event in _of_entry(entry, ledger.run, saves.get(entry.step))
    ]
    events.append(
        Certified(
            at=certificate.certified_at,
            run=ledger.run,
            attempt=last_attempt,
            training=certificate.verdict.training,
            durability=certificate.verdict.durability,
            sentence=certificate.sentence,
        )
    )
    return [event.line() for event in events]


def _of_entry(entry: LedgerEntry, run: str, save: Saved | None) -> list[Event]:
    node, attempt = (save.node, save.attempt) if save else (entry.node, 0)
    events: list[Event] = []
    if entry.exported_at:
        events.append(Exported(at=entry.exported_at, run=run, node=node, attempt=attempt, step=entry.step))
    if entry.verified_at and entry.written_at and entry.proof:
        lag_seconds = (entry.verified_at - entry.written_at).total_seconds()
        events.append(
            Verified(
                at=entry.verified_at,
                run=run,
                node=node,
                attempt=attempt,
                step=entry.step,
                proof=entry.proof,
                lag_seconds=round(lag_seconds, 3),
            )
        )
    return events


def _without_metrics(line: str) -> str:
    """The same line as on the mount: in the log, CloudWatch's metrics stand in it too (training/hook)."""
    fields = _parsed(line)
    if "_aws" not in fields:
        return line
    return json.dumps({name: value for name, value in fields.items() if name not in ("_aws", "job")})


def _moment(line: str) -> str | None:
    """All moments are written alike (UTC, milliseconds), so their texts sort as they do."""
    moment = _parsed(line).get("at")
    return moment if isinstance(moment, str) else None


def _parsed(line: str) -> dict[str, Any]:
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}
