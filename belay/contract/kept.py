"""A file system that is kept for want of a proof: everything about it stands in its tags."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from belay.contract import tags


@dataclass(frozen=True)
class Kept:
    file_system_id: str
    job: str
    run: str
    why: str
    since: datetime | None
    usd_a_day: float | None


def kept(file_system_id: str, words: Mapping[str, str]) -> Kept | None:
    """None for one that is not kept."""
    if words.get(tags.STATE) != tags.State.KEPT:
        return None
    return Kept(
        file_system_id=file_system_id,
        job=words.get(tags.JOB, "-"),
        run=words.get(tags.RUN, "-"),
        why=words.get(tags.KEPT_WHY, "not on record"),
        since=since(words),
        usd_a_day=_number(words.get(tags.KEPT_USD_A_DAY, "")),
    )


def since(words: Mapping[str, str]) -> datetime | None:
    """None if the tag is no time: a person may write tags too."""
    try:
        moment = datetime.fromisoformat(words.get(tags.KEPT_SINCE, ""))
    except ValueError:
        return None
    return moment if moment.tzinfo else None


def longest_first(found: Iterable[Kept]) -> list[Kept]:
    return sorted(found, key=lambda one: (one.since is None, one.since, one.file_system_id))


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
