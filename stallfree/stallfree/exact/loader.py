"""The Trainer's loader of training data, changed after it was made: what chose its samples and their order stays."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torch.utils.data import DataLoader
from transformers import Trainer

from stallfree.internals.replacing import replaced

Change = Callable[[DataLoader[Any]], None]


@contextmanager
def training_data(trainer: Trainer, change: Change) -> Iterator[None]:
    """While this lasts, each loader of training data is changed before the Trainer gets it."""
    own = trainer.get_train_dataloader

    def changed() -> Any:
        loader: Any = own()
        # What accelerate makes of a DataLoader holds one, and asks it for everything.
        inner = getattr(loader, "base_dataloader", loader)
        if isinstance(inner, DataLoader):
            change(inner)
        return loader

    with replaced(trainer, get_train_dataloader=changed):
        yield
