"""A fast folder in front of the one that counts: saved there often, moved on in the background when that is due."""

import logging
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol

import torch
from transformers import Trainer

from stallfree.cadence import Cadence
from stallfree.checkpoint.store import Store
from stallfree.events import Sink
from stallfree.saving.publish import best_of
from stallfree.tiers.mover import Mover
from stallfree.tiers.store import FirstWithRoom
from stallfree.tiers.tier import BothCadences, Tier

logger = logging.getLogger(__name__)


class Place(Protocol):
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
        """While training runs; what is to be elsewhere at its end is there when this is left."""


@dataclass(frozen=True)
class OneTier:
    store: Store
    cadence: Cadence | None
    keep: int | None
    sink: Sink

    def moving(self) -> AbstractContextManager[None]:
        return nullcontext()


class TwoTiers:
    """The saver saves into the fast one as if there were no other; what follows from that is the mover's."""

    keep = None

    def __init__(
        self, tier: Tier, slow: Store, *, trainer: Trainer, cadence: Cadence, keep: int | None, sink: Sink
    ) -> None:
        fast = Store(checkpoints=tier.folder, staging=tier.folder / ".staging")
        try:
            fast.open()
        except OSError as error:
            # Not the end of it: each save looks again.
            logger.warning("The fast tier %s cannot be opened: %s.", tier.folder, error)
        self.cadence = BothCadences(tier.cadence, cadence)
        self.sink = Mover(
            fast=fast,
            slow=slow,
            fast_keep=tier.keep,
            slow_keep=keep,
            goes_on=self.cadence.goes_on,
            best=lambda: best_of(trainer),
            sink=sink,
        )
        self.store = FirstWithRoom(
            fast,
            slow,
            needed_bytes=lambda: self.sink.last_bytes or _bytes_of_the_state(trainer),
            pass_on=self.sink.left_out,
        )

    def moving(self) -> AbstractContextManager[None]:
        return self.sink.moving()


def _bytes_of_the_state(trainer: Trainer) -> int:
    """Before the first save has told."""
    assert trainer.model is not None and trainer.optimizer is not None, "there are both while training"
    state = trainer.optimizer.state_dict()["state"]
    moments = [value for values in state.values() for value in values.values() if isinstance(value, torch.Tensor)]
    return sum(tensor.nbytes for tensor in [*trainer.model.state_dict().values(), *moments])
