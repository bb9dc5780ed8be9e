"""Meta's torch_checkpointing, if it is installed: a copy while the next step computes, and a process that writes."""

import importlib.util
import os
from pathlib import Path
from typing import Any

from tools.benchmarks.checkpoint.peers.way import Peer

PACKAGE = "torch_checkpointing"
HOW_TO_INSTALL = "pip install --no-deps --requirement requirements/bench.txt"


def is_installed() -> bool:
    return importlib.util.find_spec(PACKAGE) is not None


class TorchCheckpointing(Peer):
    """Best: its memory is taken before the first save, and as many threads write as there are cores.

    Its direct writes are not aligned, which ext4 and xfs refuse: they are turned off, with both settings.
    """

    is_durable = False

    def __init__(self, best: bool) -> None:
        super().__init__()
        self._best = best

    def begin(self) -> None:
        from torch_checkpointing import CheckpointManager
        from torch_checkpointing.checkpoint_writer import CheckpointWriterConfig
        from torch_checkpointing.config import AsyncCheckpointSaverConfig
        from torch_checkpointing.storage.filesystem import LocalFileSystemStorageConfig

        writer = CheckpointWriterConfig(file_write_max_threads=(os.cpu_count() or 1) if self._best else 1)
        self._manager = CheckpointManager(
            CheckpointManager.Config(
                save=AsyncCheckpointSaverConfig(writer_config=writer),
                storage_config=LocalFileSystemStorageConfig(use_direct_io=False),
            )
        )

    def prepare(self, state: dict[str, Any]) -> None:
        if self._best:
            self._manager.prewarm_staging(state)

    def save(self, state: dict[str, Any], folder: Path) -> None:
        written = self._manager.save(str(folder), state)
        assert written is not None, "its saver is asynchronous"
        written.add_done_callback(self.written)

    def before_update(self) -> None:
        # Its users hold this lock while the optimizer steps; what it costs is the wait for it.
        with self._manager.lock():
            pass

    def close(self) -> None:
        self._manager.close()
