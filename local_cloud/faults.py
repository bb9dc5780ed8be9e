"""Faults as objects: what goes wrong, how often, and for whose file system or task."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Literal, TypeVar

Labels = Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Something that goes wrong. `where` narrows it to things that carry these tags or variables."""

    where: dict[str, str] = field(default_factory=dict)
    times: int | None = None  # None: every time

    kinds: ClassVar[dict[str, type[Fault]]] = {}

    def __init_subclass__(cls) -> None:
        Fault.kinds[cls.__name__] = cls

    def concerns(self, labels: Labels) -> bool:
        """True when every label that the fault asks for is there."""
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
    """SIGKILL for everything in a task, as soon as its output shows that it has come to this step."""

    at_step: int
    on: list[str] = field(default_factory=lambda: ["saved", "step"])
    times: int | None = 1


@dataclass(frozen=True, kw_only=True)
class SpotInterruption(Fault):
    """EC2 takes a task's instance back: the warning comes at this step, two minutes later the instance is gone."""

    at_step: int
    on: list[str] = field(default_factory=lambda: ["saved", "step"])
    times: int | None = 1


@dataclass(frozen=True, kw_only=True)
class FileSystemFails(Fault):
    """A file system comes to this instead of AVAILABLE; CREATING: it takes for ever, or until this is mended."""

    lifecycle: Literal["FAILED", "MISCONFIGURED", "CREATING"] = "FAILED"


@dataclass(frozen=True, kw_only=True)
class LinkFails(Fault):
    """An association with S3 is MISCONFIGURED: the bucket refuses FSx."""


@dataclass(frozen=True, kw_only=True)
class ExportFails(Fault):
    """An export that fails, or one that says SUCCEEDED though some files never got to S3."""

    how: Literal["failed", "skipped"] = "failed"


@dataclass(frozen=True, kw_only=True)
class NoCapacity(Fault):
    """Tasks stay PROVISIONING: the capacity provider finds no machine."""


@dataclass(frozen=True, kw_only=True)
class ApiError(Fault):
    """A service answers one of its actions with this error instead of doing it."""

    service: str
    action: str
    error: str = "ThrottlingException"
    message: str = "Rate exceeded"
    status: int = 400

    def __post_init__(self) -> None:
        if self.where:
            raise ValueError("where: an API error comes before anyone knows whose file system a call is about")


@dataclass(frozen=True, kw_only=True)
class StateFails(Fault):
    """A task state fails with this error: before its call is made, or after the call took effect (a lost reply).

    `where` may name the execution (`execution`) and whatever text stands in its input (`execution_arn`, ...).
    """

    state: str
    error: str
    cause: str = "a fault of the local cloud"
    after: bool = False


@dataclass(frozen=True, kw_only=True)
class StopsAt(Fault):
    """Somebody calls StopExecution in the moment in which the execution enters this state."""

    state: str
    times: int | None = 1


F = TypeVar("F", bound=Fault)


def _always(_fault: object) -> bool:
    return True


class FaultBook:
    """The faults that are waiting to happen; safe to ask from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._left: list[tuple[Fault, int | None]] = []

    def add(self, fault: Fault) -> None:
        """From now on it happens."""
        with self._lock:
            self._left.append((fault, fault.times))

    def clear(self, where: Labels | None = None) -> None:
        """Nothing goes wrong any more; or nothing of what was meant for these labels."""
        with self._lock:
            self._left = [] if not where else [one for one in self._left if one[0].where != where]

    def waiting(self) -> list[Fault]:
        """Every fault that can still happen."""
        with self._lock:
            return [fault for fault, _ in self._left]

    def find(self, kind: type[F], labels: Labels, *, when: Callable[[F], bool] = _always) -> F | None:
        """The first such fault that concerns these labels, without using it up."""
        with self._lock:
            return next((fault for fault, _ in self._matching(kind, labels, when)), None)

    def take(self, kind: type[F], labels: Labels, *, when: Callable[[F], bool] = _always) -> F | None:
        """The same, and it has now happened once."""
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
            if isinstance(fault, kind) and fault.concerns(labels) and when(fault)
        ]
