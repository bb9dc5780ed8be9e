"""Where a training saves to: one folder, or a fast tier with the folder that counts behind it."""

import logging
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol

import torch
from transformers import Trainer

from stallfree.cadence import Cadence
from stallfree.checkpoint.store import Store
from stallfree.events import Sink
from stallfree.saving.best import best_of
from stallfree.tiers.first_with_room import FirstWithRoom
from stallfree.tiers.folder import FolderTier
from stallfree.tiers.mover import Mover
from stallfree.tiers.tier import BothCadences, Tier

logger = logging.getLogger(__name__)


class Destination(Protocol):
    """Where a training saves to, and what happens there to its checkpoints."""

    @property
    def store(self) -> Store: ...
    @property
    def cadence(self) -> Cadence | None: ...
    @property
    def keep(self) -> int | None:
        """How many the saver itself leaves in the store."""

    @property
    def sink(self) -> Sink: ...
    def moving(self) -> AbstractContextManager[None]:
        """While training runs; when this is left, the newest checkpoint is in the tier that counts."""


@dataclass(frozen=True)
class OneTier:
    store: Store
    cadence: Cadence | None
    keep: int | None
    sink: Sink

    def moving(self) -> AbstractContextManager[None]:
        return nullcontext()


class TwoTiers:
    """The saver saves into the fast one as if there were no other; the mover copies checkpoints to the slow one."""

    keep = None

    def __init__(
        self, tier: Tier, slow: Store, *, trainer: Trainer, cadence: Cadence, keep: int | None, sink: Sink
    ) -> None:
        fast = Store(checkpoints=tier.folder, staging=tier.folder / ".staging")
        try:
            fast.open()
        except OSError as error:
            # Training goes on: each save tries again.
            logger.warning("The fast tier %s cannot be opened: %s.", tier.folder, error)
        fast_tier, slow_tier = FolderTier(fast), FolderTier(slow)
        self.cadence = BothCadences(tier.cadence, cadence)
        self.sink = Mover(
            fast=fast_tier,
            slow=slow_tier,
            fast_keep=tier.keep,
            slow_keep=keep,
            goes_on=self.cadence.goes_on,
            best=lambda: best_of(trainer),
            sink=sink,
        )
        self.store = FirstWithRoom(
            fast_tier,
            slow_tier,
            needed_bytes=lambda: self.sink.last_bytes or _bytes_of_the_state(trainer),
            left_out=self.sink.left_out,
        )

    def moving(self) -> AbstractContextManager[None]:
        return self.sink.moving()


def _bytes_of_the_state(trainer: Trainer) -> int:
    """Before the first save its size is not known."""
    assert trainer.model is not None and trainer.optimizer is not None, "there are both while training"
    state = trainer.optimizer.state_dict()["state"]
    moments = [value for values in state.values() for value in values.values() if isinstance(value, torch.Tensor)]
    return sum(tensor.nbytes for tensor in [*trainer.model.state_dict().values(), *moments])
