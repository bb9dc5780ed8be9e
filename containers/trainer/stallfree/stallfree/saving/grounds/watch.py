"""Weights that change when no optimizer step changes them."""

from collections.abc import Sequence
from operator import attrgetter

import torch

_UPDATES_BETWEEN_LOOKS = 8

_version_of = attrgetter("_version")


class Watch:
    """PyTorch counts the changes of every tensor, except those made through `.data`.

    From `note` until the optimizer's next step. To look at all of them takes about a tenth of a millisecond.
    """

    def __init__(self, tensors: Sequence[torch.Tensor]) -> None:
        self._tensors = tensors
        self._versions: list[int] = []
        self._updates = 0
        self.is_on = False
        self.note()

    def note(self) -> None:
        self._versions = self._versions_now()
        self.is_on = True

    def note_now_and_then(self) -> None:
        self._updates += 1
        if self._updates % _UPDATES_BETWEEN_LOOKS == 0:
            self.note()

    def end(self) -> None:
        """The optimizer changes them next."""
        self.is_on = False

    def moved(self) -> set[int]:
        """The places of those that changed since `note`; none, if nobody looked since the optimizer's last step."""
        if not self.is_on:
            return set()
        now = self._versions_now()
        if now == self._versions:
            return set()
        return {place for place, pair in enumerate(zip(now, self._versions, strict=True)) if pair[0] != pair[1]}

    def _versions_now(self) -> list[int]:
        return list(map(_version_of, self._tensors))
