"""Detects data that draws from the global random state, where a resume is then not exact. Changes nothing."""

from collections.abc import Callable
from typing import Any

import torch
from torch.utils.data import DataLoader

from stallfree.exact.random_states import RandomStates

# Those of a loader's first fetch: nothing but data can draw between them, for one batch is fetched ahead.
_LOOKED_AT = 2


class DrawDetector:
    """`looks` is set before the loader makes its first batch; each worker has a copy, for its own batches."""

    def __init__(self) -> None:
        self.looks = False
        self._drawn = torch.zeros((), dtype=torch.bool).share_memory_()  # type: ignore[no-untyped-call]
        self._is_applied = False
        self._seen = 0
        self._last: RandomStates | None = None

    def apply_to(self, loader: DataLoader[Any]) -> None:
        self._is_applied = True
        loader.collate_fn = _DetectingCollator(loader.collate_fn, self)

    @property
    def has_seen_data_draw(self) -> bool:
        return self._is_applied and bool(self._drawn)

    def collate(self, collate: Callable[[Any], Any], samples: Any) -> Any:
        if not self.looks or self._seen == _LOOKED_AT:
            return collate(samples)
        # What the dataset has drawn for this batch: compared with the end of the one before.
        before = self._last or RandomStates()
        batch = collate(samples)
        self._seen += 1
        self._last = RandomStates()
        if not self._last.are_as(before):
            self._drawn.fill_(True)
        return batch

    def forget(self) -> None:
        self._drawn.fill_(False)


class _DetectingCollator:
    def __init__(self, collate: Callable[[Any], Any], detector: DrawDetector) -> None:
        self._collate = collate
        self._detector = detector

    def __getattr__(self, name: str) -> Any:
        if name == "_collate":  # Not there yet: a worker that was not forked makes it anew.
            raise AttributeError(name)
        return getattr(self._collate, name)

    def __call__(self, samples: Any) -> Any:
        return self._detector.collate(self._collate, samples)
