"""The newest step, whole in memory: what an emergency can still save when training itself no longer answers."""

import copy
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from stallfree.saving.best import best_of
from stallfree.saving.buffers.staging_buffer import StagingBuffer
from stallfree.saving.captured_state import IN_MEMORY, CapturedState, bytes_as_file, capture
from stallfree.saving.context import SaverContext
from stallfree.saving.save_in_progress import SaveInProgress


class Snapshots:
    """Copies the state after every step, in a thread of its own: the one that writes may be busy with a save."""

    def __init__(self, context: SaverContext, *, clock: Callable[[], float]) -> None:
        self._trainer = context.trainer
        self._trainers_own_save = context.trainer._save_checkpoint
        self._clock = clock
        self._store = context.store
        self._copier = ThreadPoolExecutor(1, thread_name_prefix="stallfree-snapshot")
        self._taking = threading.Lock()
        self._is_last = False
        self._newest: tuple[SaveInProgress, StagingBuffer] | None = None

    @property
    def slot(self) -> int | None:
        """The buffer's slot that holds the newest one."""
        return self._newest[0].slot if self._newest else None

    def take(self, buffer: StagingBuffer, slot: int) -> None:
        """Begin to copy the state as it is now. After `last` was called, nothing more is copied."""
        with self._taking:
            if self._is_last:
                return
            save = SaveInProgress(
                self._trainer.state.global_step,
                self._clock(),
                changed=buffer.versions.changed,
                protected=best_of(self._trainer),
                slot=slot,
            )
            save.captured = self._captured()
            save.copied_at_once = buffer.copy_volatile(slot)
            buffer.versions.record()
            save.committed = self._copier.submit(self._copy, save, buffer)
            self._newest = save, buffer

    def before_update(self, changed: set[int]) -> None:
        if self._newest is not None:
            save, buffer = self._newest
            save.release(changed)
            save.copied.wait()
            buffer.copies.hold_training()

    def forget(self) -> None:
        """Its memory is to be laid out anew, or weights have changed unnoticed."""
        if self._newest is not None:
            self._newest[0].copied.wait()
        self._newest = None

    def newest(self) -> tuple[SaveInProgress, StagingBuffer] | None:
        """None, if none is whole. A copy that has begun ends by itself, also if training is stuck."""
        if self._newest is None:
            return None
        save, buffer = self._newest
        assert save.committed is not None, "it was begun when it was taken"
        return None if save.committed.exception() is not None or save.torn() else (save, buffer)

    def last(self) -> tuple[SaveInProgress, StagingBuffer] | None:
        with self._taking:
            self._is_last = True
        return self.newest()

    def close(self) -> None:
        self._copier.shutdown()
        self._newest = None

    def _captured(self) -> CapturedState:
        kept = copy.deepcopy(self._trainer.state.stateful_callbacks)
        try:
            return capture(self._trainer, self._trainers_own_save, self._store)
        finally:
            # The Trainer adds to what callbacks keep at every save, and this is not one.
            self._trainer.state.stateful_callbacks = kept

    def _copy(self, save: SaveInProgress, buffer: StagingBuffer) -> None:
        try:
            with tempfile.TemporaryDirectory(prefix="stallfree-", dir=IN_MEMORY) as folder:
                save.images = buffer.copy(save, Path(folder))
                # What could not be laid out was written here by PyTorch.
                for slow in Path(folder).iterdir():
                    save.captured.files[slow.name] = bytes_as_file(slow.read_bytes())
        finally:
            save.copied.set()
        buffer.copies.finish()
