"""What one live run saw of AWS, before it is judged. Everything may be missing: a run can end at any moment."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel

from belay.contract.ledger import LedgerEntry
from belay.contract.verdict import Verdict


class Definition(BaseModel):
    """What ValidateStateMachineDefinition says of one machine."""

    machine: str
    errors: list[str]


class StateResult(BaseModel):
    """What TestState says of one state."""

    status: str
    error: str | None = None
    cause: str | None = None


class Right(BaseModel):
    action: str
    on: str
    decision: str


class FileSystem(BaseModel):
    created_at: datetime
    first_seen_at: datetime
    tagged_at: datetime | None = None
    """When its tags were first seen."""
    ready_at: datetime | None = None
    deletion_asked_at: datetime | None = None
    gone_at: datetime | None = None


class Link(BaseModel):
    path: str
    created_at: datetime
    ready_at: datetime | None = None
    failure: str | None = None
    import_created_at: datetime | None = None
    import_listed_at: datetime | None = None
    import_ended_at: datetime | None = None


class Export(BaseModel):
    created_at: datetime
    ended_at: datetime
    succeeded: bool


class RunTask(BaseModel):
    """The call that starts the trainer, as the history has it."""

    has_token: bool
    error: str | None = None


class Instance(BaseModel):
    type: str
    installed_mib: int
    most_mib: int
    """The most that Belay lets a job ask for."""
    registered_mib: int


class Stored(BaseModel):
    """An object that FSx wrote, as HeadObject describes it."""

    bytes: int
    parts: int
    """As its ETag says; 1 for an object that came whole."""
    checksums: list[str]
    type: str | None = None


class FailedCall(BaseModel):
    state: str
    error: str


class Seen(BaseModel):
    region: str = ""
    # Before anything is paid for.
    definitions: list[Definition] | None = None
    link_without_file_system: StateResult | None = None
    delete_without_file_system: StateResult | None = None
    fault_in_output: StateResult | None = None
    rights: list[Right] | None = None
    unknown_member: str | None = None
    """The error of CreateFileSystem with a member that does not exist, in a subnet that does not exist."""
    file_system_prices: list[float] | None = None
    file_system_price_assumed: float | None = None
    instance_prices: list[float] | None = None
    instance_price_assumed: float | None = None
    # While the run lasts.
    started_at: datetime | None = None
    described_at: datetime | None = None
    file_system: FileSystem | None = None
    links: dict[str, Link] = {}
    export_beside_another_task: StateResult | None = None
    run_task: RunTask | None = None
    instance: Instance | None = None
    inspection: dict[str, dict[str, Any]] = {}
    """What the inspection said, by the name of what it tried (inspection.py)."""
    ledger: list[LedgerEntry] = []
    exports: list[Export] = []
    """Those that have ended."""
    # At its end.
    was_stopped: bool = False
    """By this command: its verdict says nothing of AWS then."""
    verdict: Verdict | None = None
    stored: list[Stored] | None = None
    teardown_failures: list[FailedCall] | None = None
    left: list[str] | None = None
    # By the name of a field: why it is not known.
    unseen: dict[str, str] = {}
