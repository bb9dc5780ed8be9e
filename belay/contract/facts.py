"""facts.json: what `belay doctor --live` found out about AWS on one account, for people and for an issue report."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field

from belay.contract.events import Host

Held = Literal["yes", "no", "not seen"]


class Fact(BaseModel):
    """One thing that Belay assumes of AWS, and what was seen of it."""

    name: str
    assumed: str
    held: Held
    seen: str
    """With `not seen`: why it could not be."""
    where: str
    """Where the assumption stands in Belay's code."""
    seconds: float | None = None
    """How long the thing took, if the fact is about that."""


class Facts(BaseModel):
    """It names no account, no bucket, no role and no person, so that it can be shared."""

    version: Literal[1] = 1
    belay_version: str
    """Of the Belay that was deployed."""
    command_line_version: str
    region: str
    instance_type: str
    availability_zone: str
    host: Host | None = None
    """What training ran on."""
    started_at: datetime
    ended_at: datetime
    run: str | None = None
    outcome: str
    """How the command itself ended: complete, interrupted, or the error that ended it."""
    expected_usd: float | None = Field(description="As it was shown before; None if a price is not known.")
    spent_usd: float | None = Field(description="Of the run, at the deployment's prices, without idle instances.")
    left: list[str] = []
    """What this command made and could not remove."""
    facts: list[Fact]

    @property
    def broken(self) -> list[Fact]:
        return [fact for fact in self.facts if fact.held == "no"]
