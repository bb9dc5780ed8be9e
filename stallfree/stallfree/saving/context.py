"""What every saver gets."""

from dataclasses import dataclass

from transformers import Trainer

from stallfree.checkpoint.store import Store
from stallfree.events import Sink
from stallfree.ranks import Ranks


@dataclass(frozen=True, kw_only=True)
class SaverContext:
    """Whose state is saved, where to, by which processes, how many checkpoints are kept, and where events go."""

    trainer: Trainer
    store: Store
    ranks: Ranks
    keep: int | None
    sink: Sink
