"""Several processes training one model: they save the same step, and stop after the same step."""

from collections.abc import Callable
from typing import TypeVar

import torch
import torch.distributed as dist

T = TypeVar("T")


class Ranks:
    """All processes of this training. With a single one, everything here is free."""

    def __init__(self) -> None:
        self._several = dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1
        # On the CPU, whatever training itself uses: asking must not wait for queued GPU work.
        self._group = dist.new_group(backend="gloo") if self._several else None
        self.is_first = not self._several or dist.get_rank() == 0

    @property
    def is_alone(self) -> bool:
        return not self._several

    def any(self, *flags: bool) -> list[bool]:
        """Each flag is true for all if it is true for one. Clocks and signals differ between processes."""
        if not self._several:
            return list(flags)
        votes = torch.tensor(flags, dtype=torch.int32)
        dist.all_reduce(votes, op=dist.ReduceOp.MAX, group=self._group)
        return [bool(vote) for vote in votes.tolist()]

    def from_first(self, decide: Callable[[], T]) -> T:
        """What the first process decides, in all of them; so it is also the point where they wait for it."""
        if not self._several:
            return decide()
        decision = [decide() if self.is_first else None]
        dist.broadcast_object_list(decision, src=0, group=self._group)
        return decision[0]  # type: ignore[return-value]  # the list came filled from the first process

    def wait(self) -> None:
        if self._several:
            dist.barrier(group=self._group)
