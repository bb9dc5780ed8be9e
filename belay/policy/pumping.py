"""What the pump does next for one file system. Pure: the whole of it is one table."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from belay.contract.events import Saved
from belay.contract.ledger import Ledger
from belay.contract.max_loss import PUMP_EVERY
from belay.policy.ledgers import LAST_FEW, is_verified

# Exports are not all alike.
_PLANNED = 0.9


class Action(StrEnum):
    REST = "rest"
    WAIT = "wait"
    EXPORT = "export"


@dataclass(frozen=True)
class Decision:
    action: Action
    token: str | None = None


def due(standing: Mapping[int, Saved], ledger: Ledger) -> dict[int, Saved]:
    """The saves that stand on the mount and are not proven to be in S3."""
    return {step: save for step, save in standing.items() if not is_verified(ledger, step, save)}


def safe_until(ledger: Ledger) -> datetime | None:
    """What was trained before this is proven to be in S3."""
    return max((entry.written_at for entry in ledger.entries if entry.verified_at and entry.written_at), default=None)


def may_rest(ledger: Ledger, *, max_loss_seconds: float, now: datetime) -> bool:
    """If an export that begins in the next round is proven before more than the allowed loss would be at risk.

    Saves may come more often than S3 must have them. Until one is proven, nothing is known of how long that takes.
    """
    proven = [entry for entry in ledger.entries if entry.asked_at and entry.verified_at]
    seconds = [(one.verified_at - one.asked_at).total_seconds() for one in proven if one.verified_at and one.asked_at]
    since = safe_until(ledger)
    if since is None or not seconds:
        return False
    proven_at = now + PUMP_EVERY + timedelta(seconds=max(seconds[-LAST_FEW:]))
    return proven_at <= since + timedelta(seconds=_PLANNED * max_loss_seconds)


def decide(
    file_system_id: str, still_due: Mapping[int, Saved], *, task_running: bool, now: datetime, rests: bool = False
) -> Decision:
    """One task at a time; a task takes all that is due, however much that has become."""
    if not still_due or (rests and not task_running):
        return Decision(Action.REST)
    if task_running:
        return Decision(Action.WAIT)
    return Decision(Action.EXPORT, _token(file_system_id, still_due, now))


def oldest_seconds(still_due: Mapping[int, Saved], now: datetime) -> float:
    """How long the oldest unproven save has been at risk."""
    return max(((now - save.at).total_seconds() for save in still_due.values()), default=0.0)


def _token(file_system_id: str, still_due: Mapping[int, Saved], now: datetime) -> str:
    """One task for two pumps of the same minute; a new one in the next, if this one's task did not bring it all.

    Without the minute FSx would answer a second try for the same save with the first, finished task.
    """
    newest = still_due[max(still_due)]
    identity = f"{file_system_id} {newest.step} {newest.manifest_crc64nvme} {now:%Y%m%d%H%M}"
    return f"pump-{hashlib.sha256(identity.encode()).hexdigest()[:32]}"
