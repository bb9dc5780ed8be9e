"""How one training task ended, in no service's words: what a back end makes of its own."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

_LONGEST = 300


class Cause(StrEnum):
    EXITED = "its program ended"
    STOP_REQUESTED = "it was asked to stop"
    INSTANCE_LOST = "its instance was lost"
    NO_CAPACITY = "no instance took it"
    FAILED_TO_START = "it could not start"
    REFUSED = "it was refused"


@dataclass(frozen=True)
class StoppedTask:
    cause: Cause
    asked_because: str
    """The reason given in the request to stop."""
    exit_code: int | None
    exit_reason: str
    text: str
    """For people, one line."""
    at: datetime | None
    """When its end began."""


def one_line(text: str) -> str:
    """That fits into a sentence."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
