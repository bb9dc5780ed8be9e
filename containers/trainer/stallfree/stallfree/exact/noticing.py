"""Seeing that data draws from the global random state where a resume cannot be exact then. Changes nothing."""

from collections.abc import Callable
from typing import Any

import torch
from torch.utils.data import DataLoader

from stallfree.randomness import RandomStates

# Those of a loader's first fetch: nothing but data can draw between them, for one batch is fetched ahead.
_LOOKED_AT = 2


class Watch:
    """Told to look before the loader is asked for its first batch; a worker's own copy looks at that one's batches."""

    def __init__(self) -> None:
        self.looks = False
        self._drawn = torch.zeros((), dtype=torch.bool).share_memory_()  # type: ignore[no-untyped-call]
        self._is_applied = False
        self._seen = 0
        self._last: RandomStates | None = None

    def apply_to(self, loader: DataLoader[Any]) -> None:
        self._is_applied = True
        loader.collate_fn = _WatchedCollator(loader.collate_fn, self)

    @property
    def has_seen_data_draw(self) -> bool:
        return self._is_applied and bool(self._drawn)

    def collate(self, collate: Callable[[Any], Any], samples: Any) -> Any:
        if not self.looks or self._seen == _LOOKED_AT:
            return collate(samples)
        # What the dataset has drawn for this batch is seen against the end of the one before.
        before = self._last or RandomStates()
        batch = collate(samples)
        self._seen += 1
        self._last = RandomStates()
        if not self._last.are_as(before):
            self._drawn.fill_(True)
        return batch

    def forget(self) -> None:
        self._drawn.fill_(False)


class _WatchedCollator:
    def __init__(self, collate: Callable[[Any], Any], watch: Watch) -> None:
        self._collate = collate
        self._watch = watch

    def __getattr__(self, name: str) -> Any:
        if name == "_collate":  # Not there yet: a worker that was not forked makes it anew.
            raise AttributeError(name)
        return getattr(self._collate, name)

    def __call__(self, samples: Any) -> Any:
        return self._watch.collate(self._collate, samples)
