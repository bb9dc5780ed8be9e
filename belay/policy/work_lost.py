"""What a run had trained beyond what is proven of it: in steps, in time, in money. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from belay.contract.certificate import WorkLost
from belay.contract.events import Finished, Resumed, Saved, Started, Step
from belay.contract.ledger import Ledger
from belay.policy.trainer_log import TrainerLog


@dataclass(frozen=True)
class Point:
    step: int
    at: datetime


def held(ledger: Ledger, log: TrainerLog) -> Point | None:
    """Up to where training need not be done again: the last verified step, or the one that the run began with."""
    proven = _verified(ledger, log) or _origin(log)
    begins = {line.event.node: _point(line.event) for line in log.lines if isinstance(line.event, Started | Resumed)}
    if proven is None or not begins:
        return proven
    # Steps are the run's: where nodes began anew, the one that is furthest says from where all go on.
    last = max(begins.values(), key=lambda point: (point.step, point.at))
    # The last attempt began later than that checkpoint was saved: what it did counts from its own beginning.
    return Point(proven.step, max(proven.at, last.at)) if last.step <= proven.step else proven


def reached(log: TrainerLog, steps: Iterable[Step]) -> Point | None:
    """How far training is known to have come. A save that was announced, or an end, says it as well as a step."""
    events = [line.event for line in log.lines if isinstance(line.event, Saved | Resumed | Finished)]
    points = [Point(event.step, event.at) for event in (*events, *steps)]
    # A run that fell back has passed lower steps later: what it did last is what may be lost.
    return max(points, key=lambda point: (point.at, point.step), default=None)


def lost(held: Point | None, reached: Point | None, usd_per_hour: float | None) -> WorkLost:
    if held is None or reached is None or reached.step <= held.step:
        return WorkLost(steps=0, minutes=0.0, usd=None if usd_per_hour is None else 0.0)
    time = max(reached.at - held.at, timedelta())
    usd = None if usd_per_hour is None else round(time / timedelta(hours=1) * usd_per_hour, 2)
    return WorkLost(steps=reached.step - held.step, minutes=round(time / timedelta(minutes=1), 1), usd=usd)


def _point(event: Started | Resumed) -> Point:
    return Point(event.step if isinstance(event, Resumed) else 0, event.at)


def _origin(log: TrainerLog) -> Point | None:
    """What the first attempt began with: nothing, or a checkpoint of an earlier run, which is in S3."""
    first = [line.event for line in log.lines if isinstance(line.event, Started | Resumed) and line.event.attempt == 1]
    return max((_point(event) for event in first), key=lambda point: point.step, default=None)


def _verified(ledger: Ledger, log: TrainerLog) -> Point | None:
    proven = [entry for entry in ledger.entries if entry.verified_at]
    if not proven:
        return None
    newest = max(proven, key=lambda entry: entry.step)
    for line in log.lines:
        save = line.event
        if isinstance(save, Saved) and save.manifest_crc64nvme == newest.manifest_crc64nvme:
            # Training went on while it was written.
            return Point(save.step, save.at - timedelta(seconds=save.durable_seconds))
    at = newest.written_at or newest.verified_at
    assert at is not None, "a proven checkpoint has a time of proof"
    return Point(newest.step, at)
