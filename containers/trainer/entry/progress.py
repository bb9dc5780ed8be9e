"""Three attempts that failed at the same step, without a new checkpoint: a fourth would fail there too."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from belay.contract.events import Event, Failed, Resumed, Saved, Stopping

ENOUGH = 3
# Attempts that say more than this between them have made steps.
_MOST_BYTES = 16 * 1024 * 1024


class Reached(NamedTuple):
    checkpoint: int
    step: int


def same_place(events: Iterable[Event], *, attempt: int, step: int) -> Reached | None:
    """Where this attempt and those before it failed, if that is one place. `events`: in the order of the file.

    A stop is no failure of training. Of an attempt whose step is not on record, as of a script without a Trainer,
    nobody knows how far it came.
    """
    newest = 0
    failed: dict[int, Reached] = {}
    stopped = set()
    for event in events:
        if isinstance(event, Saved | Resumed):
            newest = max(newest, event.step)
        elif isinstance(event, Failed) and event.step is not None:
            failed[event.attempt] = Reached(newest, event.step)
        elif isinstance(event, Stopping):
            stopped.add(event.attempt)
    here = Reached(newest, step)
    earlier = range(attempt - ENOUGH + 1, attempt)
    return here if all(failed.get(one) == here and one not in stopped for one in earlier) else None


def end_of_file(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _MOST_BYTES))
        return file.read().decode(errors="replace")
