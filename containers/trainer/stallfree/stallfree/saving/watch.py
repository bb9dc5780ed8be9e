"""Weights that change when no optimizer step changes them."""

from collections.abc import Sequence
from operator import attrgetter

import torch

_version_of = attrgetter("_version")


class Watch:
    """PyTorch counts the changes of every tensor, except those made through `.data`."""

    def __init__(self, tensors: Sequence[torch.Tensor]) -> None:
        self._tensors = tensors
        self._versions: list[int] = []
        self.note()

    def note(self) -> None:
        self._versions = self._versions_now()

    def moved(self) -> set[int]:
        """The places of those that changed since `note`."""
        now = self._versions_now()
        if now == self._versions:
            return set()  # Every step asks.
        return {place for place, pair in enumerate(zip(now, self._versions, strict=True)) if pair[0] != pair[1]}

    def _versions_now(self) -> list[int]:
        return list(map(_version_of, self._tensors))
