"""Time, in the one place where it is read: handlers hand it on to everything else."""

from datetime import UTC, datetime


def now() -> datetime:
    return datetime.now(UTC)
