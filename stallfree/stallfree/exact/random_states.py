"""The random states that a data loader may draw from in this process."""

import base64
import random
from typing import Any

import numpy as np
import torch


class RandomStates:
    """As they are when this is made."""

    def __init__(self) -> None:
        self._python: tuple[Any, ...] = random.getstate()
        self._numpy = np.random.get_state(legacy=False)
        self._torch = torch.random.get_rng_state()

    def put_back(self) -> None:
        random.setstate(self._python)
        np.random.set_state(self._numpy)
        torch.random.set_rng_state(self._torch)

    def noted(self) -> dict[str, Any]:
        """For JSON."""
        inner = self._numpy["state"]
        return {
            "python": self._python,
            "numpy": {**self._numpy, "state": {**inner, "key": inner["key"].tolist()}},
            "torch": base64.b64encode(self._torch.numpy().tobytes()).decode(),
        }

    @classmethod
    def from_noted(cls, noted: dict[str, Any]) -> "RandomStates":
        states = cls()
        version, words, gauss = noted["python"]
        inner = noted["numpy"]["state"]
        states._python = (version, tuple(words), gauss)
        states._numpy = {**noted["numpy"], "state": {**inner, "key": np.array(inner["key"], dtype=np.uint32)}}
        states._torch = torch.tensor(list(base64.b64decode(noted["torch"])), dtype=torch.uint8)
        return states

    def are_as(self, others: "RandomStates") -> bool:
        return self.noted() == others.noted()
