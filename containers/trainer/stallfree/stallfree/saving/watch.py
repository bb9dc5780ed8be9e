"""Weights that change when no optimizer step changes them."""

from collections.abc import Sequence

import torch


class Watch:
    """PyTorch counts the changes of every tensor, except those made through `.data`."""

    def __init__(self, tensors: Sequence[torch.Tensor]) -> None:
        self._tensors = tensors
        self._versions: list[int] = []
        self.note()

    def note(self) -> None:
        self._versions = [tensor._version for tensor in self._tensors]

    def moved(self) -> set[int]:
        """The places of those that changed since `note`."""
        pairs = zip(self._tensors, self._versions, strict=True)
        return {place for place, (tensor, version) in enumerate(pairs) if tensor._version != version}
