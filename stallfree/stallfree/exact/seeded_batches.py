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

from stallfree.exact.random_states import RandomStates


class BatchSeed:
    """What a batch's random state is made from. Each worker has its own, but for the epoch."""

    def __init__(self, args: TrainingArguments) -> None:
        self._seed = args.data_seed if args.data_seed is not None else args.seed
        # Shared with workers, which may live longer than an epoch.
        self._epoch = torch.zeros((), dtype=torch.int64).share_memory_()  # type: ignore[no-untyped-call]
        self._batch: tuple[Any, ...] = ()
        self._drawn: RandomStates | None = None

    def apply_to(self, loader: DataLoader[Any]) -> None:
        if isinstance(loader.dataset, _SeededDataset | _SeededStream):
            return  # A Trainer that hands out one loader again and again.
        is_stream = isinstance(loader.dataset, IterableDataset)
        data = _SeededStream(loader.dataset, self) if is_stream else _SeededDataset(loader.dataset, self)
        # Past DataLoader's check, which protects its sampler: the places of the samples are the same.
        vars(loader)["dataset"] = data
        loader.collate_fn = _SeededCollator(loader.collate_fn, self)

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


class _Wrapper:
    """Anything else is asked of what it wraps."""

    def __init__(self, wrapped: Any, seed: BatchSeed) -> None:
        self._wrapped = wrapped
        self._batch_seed = seed

    def __getattr__(self, name: str) -> Any:
        if name == "_wrapped":  # Not there yet: a worker that was not forked makes it anew.
            raise AttributeError(name)
        return getattr(self._wrapped, name)

    def __len__(self) -> int:
        return len(self._wrapped)


class _SeededDataset(_Wrapper, Dataset[Any]):
    def __getitem__(self, place: Any) -> Any:
        self._batch_seed.begin_batch([place])
        with self._batch_seed.drawing():
            return self._wrapped[place]

    def __getitems__(self, places: Sequence[Any]) -> Any:
        self._batch_seed.begin_batch(places)
        with self._batch_seed.drawing():
            if hasattr(self._wrapped, "__getitems__"):
                return self._wrapped.__getitems__(places)
            return [self._wrapped[place] for place in places]


class _SeededStream(_Wrapper, IterableDataset[Any]):
    """After a resume the Trainer replays it from the epoch's begin: with the same random numbers, to the same batch."""

    def __iter__(self) -> Iterator[Any]:
        self._batch_seed.begin_stream()
        with self._batch_seed.drawing():
            samples = iter(self._wrapped)
        while True:
            with self._batch_seed.drawing():
                try:
                    sample = next(samples)
                except StopIteration:
                    return
            yield sample


class _SeededCollator(_Wrapper):
    _wrapped: Callable[[Any], Any]

    def __call__(self, samples: Any) -> Any:
        with self._batch_seed.drawing():
            return self._wrapped(samples)


def _seed(seed: str) -> None:
    number = int.from_bytes(hashlib.blake2b(seed.encode(), digest_size=8).digest(), "little")
    random.seed(number)
    numpy.random.seed(number & 0xFFFFFFFF)
    # Only the CPU's: `torch.manual_seed` would seed the GPUs too, which training draws from.
    torch.default_generator.manual_seed(number & 0x7FFFFFFFFFFFFFFF)
