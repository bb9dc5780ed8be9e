"""What is new between two looks at a run, as lines for people in the order in which it happened. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from client.progress import Look, sentence
from contract.ledger import Ledger


@dataclass(frozen=True)
class News:
    at: datetime
    kind: Literal["state", "teardown", "trainer", "verified", "trouble"]
    text: str


def news(before: Look | None, after: Look) -> list[News]:
    """Whatever `after` knows and `before` did not."""
    known = set(_all(before)) if before else set()
    return sorted((item for item in _all(after) if item not in known), key=lambda item: item.at)


def _all(look: Look) -> Iterator[News]:
    for state in look.entered:
        yield News(state.at, "teardown" if state.teardown else "state", state.state)
    for trouble in look.troubles:
        yield News(trouble.at, "trouble", f"{trouble.error}: {_first_line(trouble.cause)}")
    for event in look.events:
        if text := sentence(event):
            yield News(event.at, "trainer", text)
    if look.ledger:
        yield from _verified(look.ledger)


def _verified(ledger: Ledger) -> Iterator[News]:
    for entry in ledger.entries:
        if entry.verified_at and entry.proof:
            yield News(entry.verified_at, "verified", f"step {entry.step} is proven in S3 ({entry.proof})")


def _first_line(text: str, most: int = 100) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
