"""When a teardown that did not end well is tried again. Pure."""

import math
from datetime import datetime, timedelta

from belay.contract import kept, tags
from belay.policy.file_system import FileSystem

# After the first pause, then after two more, four, eight ...: with 30 minutes to begin with, at last once in 32 hours.
_MOST_DOUBLINGS = 6


def attempt(file_system: FileSystem, pause: timedelta, now: datetime) -> str | None:
    """A name for each stretch of time: one that is named like an earlier one is not started. None: it is too early."""
    if file_system.state != tags.State.KEPT:
        return str(math.floor(now.timestamp() / pause.total_seconds()))
    return _later("kept", kept.since(file_system.tags) or file_system.created_at, pause, now)


def attempt_without(stopped_at: datetime, pause: timedelta, now: datetime) -> str | None:
    """The same where no file system is left, and a teardown stopped before it had said so."""
    return _later("certify", stopped_at, pause, now)


def _later(what: str, since: datetime, pause: timedelta, now: datetime) -> str | None:
    tries = _tries_due(now - since, pause)
    return f"{what}-{tries}" if tries else None


def _tries_due(waited: timedelta, first_pause: timedelta) -> int:
    """How many it has been kept long enough for. The pauses between them double, up to a limit."""
    pauses = max(waited, timedelta()) / first_pause
    # After n tries 1 + 2 + 4 + ... = 2^n - 1 first pauses have passed.
    tries = math.floor(math.log2(pauses + 1))
    if tries <= _MOST_DOUBLINGS:
        return tries
    longest = 1 << _MOST_DOUBLINGS
    return _MOST_DOUBLINGS + math.floor((pauses - (longest - 1)) / longest)
