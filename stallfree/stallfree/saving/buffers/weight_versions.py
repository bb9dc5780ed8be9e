"""Weights that change when no optimizer step changes them."""

from collections.abc import Sequence

import torch

from stallfree.internals.pytorch import version_of

_UPDATES_BETWEEN_RECORDS = 8


class WeightVersions:
    """PyTorch counts the changes of every tensor, except those made through `.data`: its version.

    Compared from `record` until the optimizer's next step. To read them all takes about a tenth of a millisecond.
    """

    def __init__(self, tensors: Sequence[torch.Tensor]) -> None:
        self._tensors = tensors
        self._versions: list[int] = []
        self._updates = 0
        self.is_on = False
        self.record()

    def record(self) -> None:
        self._versions = self._versions_now()
        self.is_on = True

    def record_now_and_then(self) -> None:
        self._updates += 1
        if self._updates % _UPDATES_BETWEEN_RECORDS == 0:
            self.record()

    def end(self) -> None:
        """The optimizer changes all of them next."""
        self.is_on = False

    def changed(self) -> set[int]:
        """The places of those that changed since `record`; none, if there was none since the optimizer's last step."""
        if not self.is_on:
            return set()
        now = self._versions_now()
        if now == self._versions:
            return set()
        return {place for place, pair in enumerate(zip(now, self._versions, strict=True)) if pair[0] != pair[1]}

    def _versions_now(self) -> list[int]:
        return list(map(version_of, self._tensors))
