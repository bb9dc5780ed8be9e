"""What is new between two snapshots of a run, as lines in the order in which it happened. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from belay.client.progress import Snapshot, sentence
from belay.contract.ledger import Ledger


@dataclass(frozen=True)
class Update:
    at: datetime
    kind: Literal["state", "teardown", "trainer", "verified", "trouble"]
    text: str


def updates(before: Snapshot | None, after: Snapshot) -> list[Update]:
    """Everything that is in `after` and not in `before`."""
    known = set(_all(before)) if before else set()
    return sorted((item for item in _all(after) if item not in known), key=lambda item: item.at)


def _all(snapshot: Snapshot) -> Iterator[Update]:
    for state in snapshot.entered:
        yield Update(state.at, "teardown" if state.teardown else "state", state.state)
    for trouble in snapshot.troubles:
        yield Update(trouble.at, "trouble", f"{trouble.error}: {_first_line(trouble.cause)}")
    for event in snapshot.events:
        if text := sentence(event):
            yield Update(event.at, "trainer", text)
    if snapshot.ledger:
        yield from _verified(snapshot.ledger)


def _verified(ledger: Ledger) -> Iterator[Update]:
    for entry in ledger.entries:
        if entry.verified_at and entry.proof:
            yield Update(entry.verified_at, "verified", f"step {entry.step} is proven in S3 ({entry.proof})")


def _first_line(text: str, most: int = 100) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
