"""Saving while training goes on: a copy during the next forward and backward pass, then direct writes."""

import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from stallfree.direct_io.memory import available_bytes
from stallfree.saving import supported
from stallfree.saving.best import best_of
from stallfree.saving.buffers.setup import BufferSetup
from stallfree.saving.buffers.staging_buffer import StagingBuffer
from stallfree.saving.commit import Committer
from stallfree.saving.context import SaverContext
from stallfree.saving.readers import readers_of_checkpoints
from stallfree.saving.save_in_progress import SaveInProgress
from stallfree.saving.saver import PlainSaver, SaveFailed
from stallfree.saving.snapshots import Snapshots

logger = logging.getLogger(__name__)


class OverlappedSaver:
    """One copy of the state, kept in memory as the files that it is to become.

    A save waits for the one before it, so there is never more than one copy, nor a queue. What cannot be laid out
    is saved by the PlainSaver, with one warning that says why. Of several processes the first copies and writes what
    all share, each its own shards and random state; they overlap, fall back to PlainSaver, and fail together.

    snapshots: copy the state after every step, so that the newest one can be saved while training is stuck in a step.
    That takes a second copy of memory, about a millisecond of each step for the small files, and one process.
    most_staging_bytes: of memory for copies. Where that, or what the host has to spare, is too little for a whole copy,
    the state goes to the disk through so much of it (64 MiB, if not given), and the next optimizer step waits for that.
    """

    def __init__(
        self,
        context: SaverContext,
        *,
        snapshots: bool = False,
        most_staging_bytes: int | None = None,
        clock: Callable[[], float] = time.perf_counter,
        spare_bytes: Callable[[], int] = available_bytes,
    ) -> None:
        self._plain = PlainSaver(context, clock=clock)
        self._trainer = context.trainer
        self._trainers_own_save = context.trainer._save_checkpoint
        self._store = context.store
        self._ranks = context.ranks
        self._clock = clock
        self._snapshots = Snapshots(context, clock=clock) if snapshots and context.ranks.count == 1 else None
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="stallfree")
        self._committer = Committer(context, clock=clock)
        self._setup = BufferSetup(
            context,
            slots=1 if self._snapshots is None else 2,
            worker=self._worker,
            give_up=self._forget_snapshots,
            most_bytes=most_staging_bytes,
            spare_bytes=spare_bytes,
        )
        if snapshots and self._snapshots is None:
            self._setup.warn_once("There are no snapshots of steps: several processes train together.")
        self._in_progress: SaveInProgress | None = None

    def save(self) -> None:
        began = self._clock()
        self.drain()
        buffer = self._setup.current()
        if buffer is None:
            self._plain.save()
        else:
            self._begin(buffer, began)

    def before_update(self) -> None:
        buffer, save = self._setup.buffer, self._in_progress
        if buffer is None:
            return
        changed = buffer.versions.changed()
        self._wait_for_copies(buffer, changed)
        if self._snapshots is not None:
            self._snapshots.before_update(changed)
        buffer.add_volatile(changed)
        buffer.was_observed = buffer.was_observed or buffer.versions.is_on
        buffer.has_saved = buffer.has_saved or save is not None
        buffer.versions.end()

    def before_other_work(self) -> None:
        buffer = self._setup.buffer
        if buffer is not None and self._in_progress is not None:
            self._wait_for_copies(buffer, buffer.versions.changed())

    def after_update(self) -> None:
        self._setup.begin()
        buffer = self._setup.buffer
        if buffer is None:
            return
        if self._snapshots is None and buffer.has_saved:
            # A weight that begins to change now tears one save at most, and is volatile from then on.
            buffer.versions.record_now_and_then()
        else:
            buffer.versions.record()
        self._take_snapshot(buffer)

    @property
    def has_failed(self) -> bool:
        committed = self._in_progress.committed if self._in_progress else None
        return committed is not None and committed.done() and committed.exception() is not None

    def under_way(self) -> int | None:
        save = self._in_progress
        return save.step if save is not None and save.committed is not None and not save.committed.done() else None

    def snapshot_of_step(self) -> int | None:
        newest = self._snapshots.newest() if self._snapshots is not None else None
        return newest[0].step if newest is not None else None

    def commit_snapshot(self, seconds_left: float) -> int:
        if self._snapshots is None or (last := self._snapshots.last()) is None:
            raise SaveFailed(self._trainer.state.global_step, RuntimeError("no step is whole in memory"))
        save, buffer = last
        under_way = self._in_progress
        if under_way is not None and under_way.committed is not None:
            # It keeps the disk busy, and is what stands if the snapshot cannot be written.
            ended = under_way.committed.exception(timeout=seconds_left)
            if ended is None and under_way.step == save.step:
                return save.step
        self._committer.commit_snapshot(save, buffer)
        return save.step

    def drain(self) -> None:
        save, self._in_progress = self._in_progress, None
        if save is not None and save.committed is not None:
            save.committed.result()

    def close(self) -> None:
        try:
            self.drain()
        except Exception:
            # Training may be ending with another error: this one must not replace it.
            logger.exception("The last checkpoint that was begun was not saved.")
        if self._snapshots is not None:
            self._snapshots.close()
        self._worker.shutdown()
        self._committer.close()
        self._setup.buffer = None

    def _begin(self, buffer: StagingBuffer, began: float) -> None:
        step = self._trainer.state.global_step
        changed = buffer.versions.changed()
        buffer.add_volatile(changed)
        slot = self._free_slot(buffer)
        if changed:
            # A snapshot may be torn, and after `record` that could no longer be seen.
            self._forget_snapshots()
        try:
            self._store.choose(step)
        except Exception as error:
            raise SaveFailed(step, error) from error
        save = SaveInProgress(step, began, changed=buffer.versions.changed, slot=slot)
        try:
            buffer.capture(save, self._trainer, self._trainers_own_save, self._store)
            save.protected = best_of(self._trainer)
            save.copied_at_once = buffer.copy_volatile(slot)
        except Exception as error:
            # The other processes have begun this save: they learn of the fault in its commit step.
            save.fault = error
        buffer.versions.record()
        readers = readers_of_checkpoints(self._trainer)
        save.is_waited_for = bool(readers)
        save.stall_seconds = self._clock() - began
        save.committed = self._worker.submit(self._committer.commit, save, buffer)
        self._in_progress = save
        if readers:
            self._setup.warn_once(
                f"Training waits until each checkpoint is durable: {', '.join(readers)} may read it in on_save. "
                "A callback that does not says so by reads_checkpoints = False."
            )
            self.drain()
        elif buffer.holds_training or supported.changes_between_steps(self._trainer):
            save.copied.wait()
            buffer.copies.hold_training()
            save.stall_seconds = self._clock() - began

    def _wait_for_copies(self, buffer: StagingBuffer, changed: set[int]) -> None:
        """When this returns the weights are copied, and may change."""
        save = self._in_progress
        if save is None or save.is_released:
            return
        save.release(changed)
        began = self._clock()
        save.copied.wait()
        buffer.copies.hold_training()
        save.stall_seconds += self._clock() - began

    def _take_snapshot(self, buffer: StagingBuffer) -> None:
        if self._snapshots is None or buffer.slots < 2 or not buffer.ready.done():
            return
        if not buffer.still_fits():
            self._setup.prepare()
            return
        self._snapshots.take(buffer, self._free_slot(buffer))

    def _forget_snapshots(self) -> None:
        if self._snapshots is not None:
            self._snapshots.forget()

    def _free_slot(self, buffer: StagingBuffer) -> int:
        """Not the one that is being written; else the one with the older copy."""
        if buffer.slots < 2 or self._snapshots is None:
            return 0
        under_way = self.under_way()
        save = self._in_progress
        used = save.slot if save is not None and under_way is not None else self._snapshots.slot
        return 1 if used == 0 else 0
