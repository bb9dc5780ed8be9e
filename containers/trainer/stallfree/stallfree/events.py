"""What a checkpointed training says about itself; whoever listens is a plain callable."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Saved:
    """The checkpoint is whole and durable."""

    step: int
    path: str
    files: int
    bytes: int
    stall_seconds: float
    durable_seconds: float
    manifest_crc64nvme: str


@dataclass(frozen=True)
class Removed:
    step: int


@dataclass(frozen=True)
class PassedOver:
    path: str
    reason: str


@dataclass(frozen=True)
class Resumed:
    step: int
    source: str


Event = Saved | Removed | PassedOver | Resumed
Sink = Callable[[Event], None]
