"""Faults as objects: what goes wrong, how often, and for which run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Literal, TypeVar

Labels = Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Something that goes wrong. `where` limits it to resources with these tags or variables."""

    where: dict[str, str] = field(default_factory=dict)
    times: int | None = None  # None: every time

    kinds: ClassVar[dict[str, type[Fault]]] = {}

    def __init_subclass__(cls) -> None:
        Fault.kinds[cls.__name__] = cls

    def matches(self, labels: Labels) -> bool:
        """True when every label of `where` is there."""
        return all(labels.get(name) == value for name, value in self.where.items())

    def to_json(self) -> dict[str, Any]:
        """The form that travels to the server."""
        return {"kind": type(self).__name__, **asdict(self)}

    @staticmethod
    def from_json(raw: Mapping[str, Any]) -> Fault:
        """Reads what `to_json` wrote."""
        fields = dict(raw)
        kind = fields.pop("kind", None)
        if kind not in Fault.kinds:
            raise ValueError(f"kind: {kind!r} is not a fault; use one of {', '.join(sorted(Fault.kinds))}")
        return Fault.kinds[kind](**fields)


@dataclass(frozen=True, kw_only=True)
class KillTraining(Fault):
    """SIGKILL for all processes of a task, as soon as its output shows that it reached this step."""

    at_step: int
    on: list[str] = field(default_factory=lambda: ["saved", "step"])
    times: int | None = 1


@dataclass(frozen=True, kw_only=True)
class SpotInterruption(Fault):
    """EC2 interrupts a task's Spot instance: the warning comes at this step, the end two minutes later."""

    at_step: int
    on: list[str] = field(default_factory=lambda: ["saved", "step"])
    times: int | None = 1


@dataclass(frozen=True, kw_only=True)
class FileSystemFails(Fault):
    """A file system gets this lifecycle instead of AVAILABLE; CREATING lasts until the fault is removed."""

    lifecycle: Literal["FAILED", "MISCONFIGURED", "CREATING"] = "FAILED"


@dataclass(frozen=True, kw_only=True)
class LinkFails(Fault):
    """An association with S3 does not become AVAILABLE: the bucket refuses FSx."""

    lifecycle: Literal["MISCONFIGURED", "FAILED"] = "MISCONFIGURED"


@dataclass(frozen=True, kw_only=True)
class ImportFails(Fault):
    """The import task that comes with an association fails."""


@dataclass(frozen=True, kw_only=True)
class ExportFails(Fault):
    """An export that fails, or one that says SUCCEEDED though a file is missing in S3."""

    how: Literal["failed", "skipped"] = "failed"


@dataclass(frozen=True, kw_only=True)
class TagsAppearLate(Fault):
    """The tags of a file system stay as they were, in descriptions, for so many AWS seconds after a change or its
    creation. [?] FSx promises no consistency between a call and the next description."""

    seconds: float = 60


@dataclass(frozen=True, kw_only=True)
class ExportListedLate(Fault):
    """A new data repository task is in no description for so many AWS seconds. [?] As for tags."""

    seconds: float = 60


@dataclass(frozen=True, kw_only=True)
class NoCapacity(Fault):
    """Tasks stay PROVISIONING: the capacity provider finds no instance."""


@dataclass(frozen=True, kw_only=True)
class QuotaIs(Fault):
    """A quota of the account has this value, as in an account that has not asked for more."""

    code: str
    value: float


@dataclass(frozen=True, kw_only=True)
class TaskSeenLate(Fault):
    """For so many AWS seconds, ListTasks does not have a new task, DescribeTasks calls it MISSING, and StopTask does
    not find it: "the Amazon ECS API follows an eventual consistency model" (botocore's model, RunTask)."""

    seconds: float = 30


@dataclass(frozen=True, kw_only=True)
class EventDelivery(Fault):
    """EventBridge starts a target twice, late, or never: "in rare cases an event might not be delivered" (delivery
    level of AWS service events), "my rule ran more than once in response to one event" (EventBridge user guide,
    troubleshooting). One late event among others is out of order.

    `where` may name the rule (`rule`), the event (`source`, `detail-type`) and texts of its detail (`status`, ...).
    """

    how: Literal["never", "twice", "late"] = "never"
    seconds: float = 600
    times: int | None = 1


@dataclass(frozen=True, kw_only=True)
class ApiError(Fault):
    """A service answers one of its actions, or with "*" each of them, with this error instead of doing it."""

    service: str
    action: str
    error: str = "ThrottlingException"
    message: str = "Rate exceeded"
    status: int = 400

    def __post_init__(self) -> None:
        if self.where:
            raise ValueError("where: an API error is raised before it is known which file system a call is about")


@dataclass(frozen=True, kw_only=True)
class StateFails(Fault):
    """A task state fails with this error: before its call is made, or after the call took effect (a lost reply).

    `where` may name the execution (`execution`) and texts of its input (`execution_arn`, ...).
    """

    state: str
    error: str
    cause: str = "a fault of the local cloud"
    after: bool = False


@dataclass(frozen=True, kw_only=True)
class StopsAt(Fault):
    """StopExecution is called when the execution enters this state."""

    state: str
    times: int | None = 1


@dataclass(frozen=True, kw_only=True)
class HoldsAt(Fault):
    """An execution that enters this state stays there as long as the fault does, so that others can reach theirs."""

    state: str


F = TypeVar("F", bound=Fault)


def _always(_fault: object) -> bool:
    return True


class FaultRegistry:
    """The faults that can still happen; may be used from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._left: list[tuple[Fault, int | None]] = []

    def add(self, fault: Fault) -> None:
        """From now on it can happen."""
        with self._lock:
            self._left.append((fault, fault.times))

    def clear(self, where: Labels | None = None) -> None:
        """Removes all faults, or those for exactly these labels."""
        with self._lock:
            self._left = [] if not where else [one for one in self._left if one[0].where != where]

    def waiting(self) -> list[Fault]:
        """Every fault that can still happen."""
        with self._lock:
            return [fault for fault, _ in self._left]

    def find(self, kind: type[F], labels: Labels, *, when: Callable[[F], bool] = _always) -> F | None:
        """The first such fault for these labels; it stays."""
        with self._lock:
            return next((fault for fault, _ in self._matching(kind, labels, when)), None)

    def take(self, kind: type[F], labels: Labels, *, when: Callable[[F], bool] = _always) -> F | None:
        """The same, counted as happened once."""
        with self._lock:
            for fault, left in self._matching(kind, labels, when):
                self._left.remove((fault, left))
                if left is None or left > 1:
                    self._left.append((fault, None if left is None else left - 1))
                return fault
        return None

    def _matching(self, kind: type[F], labels: Labels, when: Callable[[F], bool]) -> list[tuple[F, int | None]]:
        return [
            (fault, left)
            for fault, left in self._left
            if isinstance(fault, kind) and fault.matches(labels) and when(fault)
        ]
