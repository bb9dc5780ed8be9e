"""Random numbers of the data that depend on the batch alone, not on what was drawn before it.

A dataset or collator that draws from the global random state (masking, augmentation) is not exact after a resume: the
Trainer restores that state when the loader has drawn from it already, and workers are seeded anew. Here each batch is
made with a random state of its own, from the seed, the epoch and the places of its samples; training's own random state
does not notice. That is another stream of random numbers than without it, and the same one after every resume.
"""

import hashlib
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info
from transformers import TrainingArguments

from stallfree.randomness import RandomStates


class Key:
    """What the random state of the batch in the making depends on. Each worker has its own, but for the epoch."""

    def __init__(self, args: TrainingArguments) -> None:
        self._seed = args.data_seed if args.data_seed is not None else args.seed
        # Shared with workers, which may live longer than an epoch.
        self._epoch = torch.zeros((), dtype=torch.int64).share_memory_()  # type: ignore[no-untyped-call]
        self._batch: tuple[Any, ...] = ()
        self._drawn: RandomStates | None = None

    def apply_to(self, loader: DataLoader[Any]) -> None:
        if isinstance(loader.dataset, _Keyed | _KeyedStream):
            return  # A Trainer that hands out one loader again and again.
        is_stream = isinstance(loader.dataset, IterableDataset)
        data = _KeyedStream(loader.dataset, self) if is_stream else _Keyed(loader.dataset, self)
        # Past DataLoader's own check, which is for its sampler's sake: this has the very places that the dataset has.
        vars(loader)["dataset"] = data
        loader.collate_fn = _KeyedCollator(loader.collate_fn, self)

    def begin_epoch(self, epoch: int) -> None:
        self._epoch.fill_(epoch)

    def begin_batch(self, places: Sequence[Any]) -> None:
        self._batch = tuple(places)
        self._drawn = None

    def begin_stream(self) -> None:
        """Batches that have no places: their random state goes on from one to the next, from the epoch's begin on."""
        worker = get_worker_info()
        self._batch = ("stream", worker.id if worker else 0)
        self._drawn = None

    @contextmanager
    def drawing(self) -> Iterator[None]:
        trainings_own = RandomStates()
        if self._drawn is None:
            _seed(repr((self._seed, int(self._epoch), self._batch)))
        else:
            self._drawn.put_back()
        try:
            yield
        finally:
            self._drawn = RandomStates()
            trainings_own.put_back()


class _StandsFor:
    """Whatever else is asked, it is what it stands for."""

    def __init__(self, itself: Any, key: Key) -> None:
        self._itself = itself
        self._key = key

    def __getattr__(self, name: str) -> Any:
        if name == "_itself":  # Not there yet: a worker that was not forked makes it anew.
            raise AttributeError(name)
        return getattr(self._itself, name)

    def __len__(self) -> int:
        return len(self._itself)


class _Keyed(_StandsFor, Dataset[Any]):
    def __getitem__(self, place: Any) -> Any:
        self._key.begin_batch([place])
        with self._key.drawing():
            return self._itself[place]

    def __getitems__(self, places: Sequence[Any]) -> Any:
        self._key.begin_batch(places)
        with self._key.drawing():
            if hasattr(self._itself, "__getitems__"):
                return self._itself.__getitems__(places)
            return [self._itself[place] for place in places]


class _KeyedStream(_StandsFor, IterableDataset[Any]):
    """After a resume the Trainer replays it from the epoch's begin: with the same random numbers, to the same batch."""

    def __iter__(self) -> Iterator[Any]:
        self._key.begin_stream()
        with self._key.drawing():
            samples = iter(self._itself)
        while True:
            with self._key.drawing():
                try:
                    sample = next(samples)
                except StopIteration:
                    return
            yield sample


class _KeyedCollator(_StandsFor):
    _itself: Callable[[Any], Any]

    def __call__(self, samples: Any) -> Any:
        with self._key.drawing():
            return self._itself(samples)


def _seed(key: str) -> None:
    number = int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest(), "little")
    random.seed(number)
    numpy.random.seed(number & 0xFFFFFFFF)
    # Of the CPU alone: `torch.manual_seed` would seed the GPUs too, and those are training's.
    torch.default_generator.manual_seed(number & 0x7FFFFFFFFFFFFFFF)
