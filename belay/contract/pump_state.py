"""pump.json: what the pump remembers of a living run between two rounds. Without it a round only has more to read."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from belay.contract.events import Removed, Saved
from belay.contract.ledger import Ledger


class StreamCursor(BaseModel):
    """One log stream of a run: whose it is, and up to when it was read."""

    node: int
    attempt: int
    read_to: datetime


class PumpState(BaseModel):
    version: Literal[1] = 1
    run: str
    searched_to: datetime
    """Up to when the whole log group was searched for streams of this run."""
    streams: dict[str, StreamCursor] = {}
    newest: dict[int, Annotated[Saved | Removed, Field(discriminator="kind")]] = {}
    """The newest that the trainer said of each step that may still matter."""
    ledger: Ledger | None = None
    """The part of ledger.json that the pump needs, as it was when its ETag was this."""
    ledger_etag: str | None = None
    leased_until: datetime | None = None
    """One round at a time works on a run; another leaves it alone until then."""

    @property
    def current_saves(self) -> dict[int, Saved]:
        return {step: event for step, event in self.newest.items() if isinstance(event, Saved)}
