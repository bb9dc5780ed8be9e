"""One answer about AWS, and how it is put into words."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from belay.contract.facts import Held


@dataclass(frozen=True)
class Answer:
    held: Held
    seen: str
    seconds: float | None = None


def held_if(held: bool, seen: str, *, seconds: float | None = None) -> Answer:
    return Answer("yes" if held else "no", seen, None if seconds is None else round(seconds, 1))


def not_seen(why: str) -> Answer:
    return Answer("not seen", why)


def seconds_between(begin: datetime, end: datetime) -> float:
    return (end - begin).total_seconds()


def listed(texts: Sequence[str]) -> str:
    return ", ".join(texts)
