"""A probe reads one state of AWS, and answers with a phase and, for people, the reason."""

from enum import StrEnum

from belay.contract.messages.base import Answer, Question


class Phase(StrEnum):
    PENDING = "pending"
    READY = "ready"
    GONE = "gone"
    FAILED = "failed"


class ProbeAnswer(Answer):
    phase: Phase
    reason: str


class ScratchPhaseQuestion(Question):
    file_system_id: str


class ScratchPhaseAnswer(ProbeAnswer):
    dns_name: str | None = None
    mount_name: str | None = None


class LinkPhaseQuestion(Question):
    file_system_id: str
    association_id: str


class TrainingPhaseQuestion(Question):
    run: str
    attempt: int | None = None
    """None: of any attempt."""
    expected: int = 1
    """How many nodes must have a task that is ready."""


class TrainingPhaseAnswer(ProbeAnswer):
    tasks: list[str]
    """The ARNs of those that may still write."""


class ExportPhaseQuestion(Question):
    task_id: str
