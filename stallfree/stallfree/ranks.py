"""Several processes training one model: they save the same step, fail together, and stop after the same step."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Generic, TypeVar

import torch
import torch.distributed as dist

T = TypeVar("T")

# Long, for slow disks: a process that died closes its connections, and that is noticed at once.
_PATIENCE = timedelta(days=1)


class PeerFailed(Exception):
    """Another process of this training failed; the message is its error."""


@dataclass(frozen=True)
class _Outcome(Generic[T]):
    """What is sent between processes: a value, or the text of an error, which may not be picklable itself."""

    value: T | None = None
    fault: str | None = None


class Ranks:
    """All processes of this training. With a single one, everything here is free.

    Each of these has connections of its own, so that a thread may wait for its peers while training goes on: a thread
    that talks to the others has its own Ranks, made by all processes at the same point.
    """

    def __init__(self) -> None:
        self._several = dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1
        # On the CPU, so that it does not wait for queued GPU work.
        self._group = dist.new_group(backend="gloo", timeout=_PATIENCE) if self._several else None
        self.number = dist.get_rank() if self._several else 0
        self.count = dist.get_world_size() if self._several else 1

    @property
    def is_first(self) -> bool:
        return self.number == 0

    def any(self, *flags: bool) -> list[bool]:
        """Each flag is true for all if it is true for one. Clocks and signals differ between processes."""
        if not self._several:
            return list(flags)
        votes = torch.tensor(flags, dtype=torch.int32)
        dist.all_reduce(votes, op=dist.ReduceOp.MAX, group=self._group)
        return [bool(vote) for vote in votes.tolist()]

    def from_first(self, decide: Callable[[], T]) -> T:
        """The first process decides; all wait for its decision, and get the same value or error."""
        if not self._several:
            return decide()
        outcome, error = _try(decide) if self.is_first else (None, None)
        outcomes = [outcome]
        dist.broadcast_object_list(outcomes, src=0, group=self._group)
        decision: T = _values_of(outcomes, error)[0]
        return decision

    def together(self, work: Callable[[], T]) -> list[T]:
        """Every process works; the results of all, in their order. An error of one is raised in all."""
        if not self._several:
            return [work()]
        outcome, error = _try(work)
        outcomes: list[Any] = [None] * self.count
        dist.all_gather_object(outcomes, outcome, group=self._group)
        return _values_of(outcomes, error)


def _try(work: Callable[[], T]) -> tuple[_Outcome[T], Exception | None]:
    try:
        return _Outcome(value=work()), None
    except Exception as error:
        return _Outcome(fault=f"{type(error).__name__}: {error}"), error


def _values_of(outcomes: list[Any], own_error: Exception | None) -> list[Any]:
    if own_error is not None:
        raise own_error
    for number, outcome in enumerate(outcomes):
        if outcome.fault is not None:
            raise PeerFailed(f"process {number}: {outcome.fault}")
    return [outcome.value for outcome in outcomes]
