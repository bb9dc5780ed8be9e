"""What people write themselves: torch.save off the training thread."""

import os
from pathlib import Path
from typing import Any

import torch

from tools.benchmarks.checkpoint.peers.way import Peer, flush_tree


class CopyThenThread(Peer):
    """`torch.save` in a thread, after a copy. `keep`: into memory that is kept from save to save."""

    def __init__(self, keep: bool) -> None:
        super().__init__()
        self._keep = keep
        self._copy: Any = None

    def save(self, state: dict[str, Any], folder: Path) -> None:
        copy = self._copy = _copied(state, self._copy if self._keep else None)

        def write() -> None:
            folder.mkdir()
            torch.save(copy, folder / "state.pt")
            flush_tree(folder)

        self.in_background(write)


def _copied(value: Any, into: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().to("cpu", copy=True) if into is None else into.copy_(value.detach())
    if isinstance(value, dict):
        return {key: _copied(one, into[key] if into else None) for key, one in value.items()}
    if isinstance(value, list):
        return [_copied(one, into[place] if into else None) for place, one in enumerate(value)]
    return value


class Fork(Peer):
    """A child process sees the state as it was, and writes it: copy on write."""

    def save(self, state: dict[str, Any], folder: Path) -> None:
        child = os.fork()
        if child == 0:
            failed = 1
            try:
                folder.mkdir()
                torch.save(state, folder / "state.pt")
                flush_tree(folder)
                failed = 0
            finally:
                os._exit(failed)

        def reap() -> None:
            if os.waitpid(child, 0)[1] != 0:
                raise RuntimeError("the forked child could not write its checkpoint")

        self.in_background(reap)
