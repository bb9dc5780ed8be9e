"""PyTorch's own distributed checkpoints (torch.distributed.checkpoint), at their default and at their best settings."""

import os
import warnings
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import HashStore
from torch.distributed.checkpoint.filesystem import FileSystemWriter
from torch.distributed.checkpoint.staging import DefaultStager, StagingOptions
from torch.distributed.checkpoint.state_dict_saver import (
    AsyncCheckpointerType,
    AsyncSaveResponse,
    async_save,
    save,
)

from tools.benchmarks.checkpoint.peers.way import Peer


class Save(Peer):
    """Best: as many writing threads as cores."""

    def __init__(self, best: bool) -> None:
        super().__init__()
        self._threads = (os.cpu_count() or 1) if best else 1

    def save(self, state: dict[str, Any], folder: Path) -> None:
        with _one_process_is_meant():
            save(state, storage_writer=FileSystemWriter(folder, thread_count=self._threads), no_dist=True)
        self.written()


class AsyncSave(Peer):
    """Best: staged in the background into shared memory that is kept, and written by as many threads as cores."""

    def __init__(self, in_process: bool, best: bool) -> None:
        super().__init__()
        self._type = AsyncCheckpointerType.PROCESS if in_process else AsyncCheckpointerType.THREAD
        self._in_process = in_process
        self._best = best
        self._stager: DefaultStager | None = None
        self._staged: Future[None] | None = None

    def begin(self) -> None:
        if self._in_process:
            # Its process finds the others through a process group, of one here.
            os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
            dist.init_process_group("gloo", rank=0, world_size=1, store=HashStore())
        if self._best:
            on_gpu = torch.cuda.is_available()
            self._stager = DefaultStager(
                StagingOptions(
                    use_pinned_memory=on_gpu,
                    use_shared_memory=True,
                    use_async_staging=True,
                    use_non_blocking_copy=on_gpu,
                )
            )

    def save(self, state: dict[str, Any], folder: Path) -> None:
        threads = (os.cpu_count() or 1) if self._best else 1
        with _one_process_is_meant():
            answer = async_save(
                state,
                storage_writer=FileSystemWriter(folder, thread_count=threads),
                async_checkpointer_type=self._type,
                async_stager=self._stager,
                no_dist=not self._in_process,
            )
        if isinstance(answer, AsyncSaveResponse):
            self._staged, written = answer.staging_completion, answer.upload_completion
        else:
            written = answer
        written.add_done_callback(self.written)

    def before_update(self) -> None:
        staged, self._staged = self._staged, None
        if staged is not None:
            staged.result()

    def close(self) -> None:
        if self._stager is not None:
            self._stager.close()
        if self._in_process:
            dist.destroy_process_group()


@contextmanager
def _one_process_is_meant() -> Iterator[None]:
    with warnings.catch_warnings(action="ignore"):
        yield
