"""Saving while training goes on: a copy during the next forward and backward pass, then direct writes."""

import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from stallfree.memory import available_bytes
from stallfree.saving import understood
from stallfree.saving.assignment import Assignment
from stallfree.saving.flight import Flight
from stallfree.saving.grounds.ground import Ground
from stallfree.saving.grounds.preparing import Preparing
from stallfree.saving.landing import Landing
from stallfree.saving.publish import best_of
from stallfree.saving.saver import PlainSaver, SaveFailed
from stallfree.saving.snapshots import Snapshots
from stallfree.trainer_files import readers_of_checkpoints

logger = logging.getLogger(__name__)


class OverlappedSaver:
    """One copy of the state, kept in memory as the files that it is to become.

    A save waits for the one before it, so there is never more than one copy, nor a queue. What cannot be laid out
    is saved by the PlainSaver, with one warning that says why. Of several processes the first copies and writes what
    all share, each its own shards and random state; they overlap, go plain, and fail together.

    snapshots: copy the state after every step, so that an emergency saves the newest one without asking training for
    anything. That takes a second copy of memory, about a millisecond of each step for the small files, and one process.
    most_staging_bytes: of memory for copies. Where that, or what the host has to spare, is too little for a whole copy,
    the state goes to the disk through so much of it (64 MiB, if not given), and the next optimizer step waits for that.
    """

    def __init__(
        self,
        task: Assignment,
        *,
        snapshots: bool = False,
        most_staging_bytes: int | None = None,
        clock: Callable[[], float] = time.perf_counter,
        spare_bytes: Callable[[], int] = available_bytes,
    ) -> None:
        self._plain = PlainSaver(task, clock=clock)
        self._trainer = task.trainer
        self._trainers_own_save = task.trainer._save_checkpoint
        self._store = task.store
        self._ranks = task.ranks
        self._clock = clock
        self._snapshots = Snapshots(task, clock=clock) if snapshots and task.ranks.count == 1 else None
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="stallfree")
        self._landing = Landing(task, clock=clock)
        self._preparing = Preparing(
            task,
            slots=1 if self._snapshots is None else 2,
            worker=self._worker,
            give_up=self._forget_snapshots,
            most_bytes=most_staging_bytes,
            spare_bytes=spare_bytes,
        )
        if snapshots and self._snapshots is None:
            self._preparing.warn_once("There are no snapshots of steps: several processes train together.")
        self._flight: Flight | None = None

    def save(self) -> None:
        began = self._clock()
        self.drain()
        ground = self._preparing.current()
        if ground is None:
            self._plain.save()
        else:
            self._begin(ground, began)

    def before_update(self) -> None:
        ground, flight = self._preparing.ground, self._flight
        if ground is None:
            return
        moved = ground.watch.moved()
        self._wait_for_copies(ground, moved)
        if self._snapshots is not None:
            self._snapshots.before_update(moved)
        ground.learn(moved)
        ground.was_watched = ground.was_watched or ground.watch.is_on
        ground.has_saved = ground.has_saved or flight is not None
        ground.watch.end()

    def before_other_work(self) -> None:
        ground = self._preparing.ground
        if ground is not None and self._flight is not None:
            self._wait_for_copies(ground, ground.watch.moved())

    def after_update(self) -> None:
        self._preparing.begin()
        ground = self._preparing.ground
        if ground is None:
            return
        if self._snapshots is None and ground.has_saved:
            # A weight that begins to move now spoils one save at most, and is known from then on.
            ground.watch.note_now_and_then()
        else:
            ground.watch.note()
        self._take_snapshot(ground)

    @property
    def has_failed(self) -> bool:
        landed = self._flight.landed if self._flight else None
        return landed is not None and landed.done() and landed.exception() is not None

    def under_way(self) -> int | None:
        flight = self._flight
        return flight.step if flight is not None and flight.landed is not None and not flight.landed.done() else None

    def snapshot_of_step(self) -> int | None:
        newest = self._snapshots.newest() if self._snapshots is not None else None
        return newest[0].step if newest is not None else None

    def commit_snapshot(self, seconds_left: float) -> int:
        if self._snapshots is None or (last := self._snapshots.last()) is None:
            raise SaveFailed(self._trainer.state.global_step, RuntimeError("no step is whole in memory"))
        flight, ground = last
        under_way = self._flight
        if under_way is not None and under_way.landed is not None:
            # The disk is busy with it until then, and it is the one to fall back to.
            ended = under_way.landed.exception(timeout=seconds_left)
            if ended is None and under_way.step == flight.step:
                return flight.step
        self._landing.land_snapshot(flight, ground)
        return flight.step

    def drain(self) -> None:
        flight, self._flight = self._flight, None
        if flight is not None and flight.landed is not None:
            flight.landed.result()

    def close(self) -> None:
        try:
            self.drain()
        except Exception:
            # Training ends for a reason of its own, or `drain` was not asked: this must not take its place.
            logger.exception("The last checkpoint that was begun was not saved.")
        if self._snapshots is not None:
            self._snapshots.close()
        self._worker.shutdown()
        self._landing.close()
        self._preparing.ground = None

    def _begin(self, ground: Ground, began: float) -> None:
        step = self._trainer.state.global_step
        moved = ground.watch.moved()
        ground.learn(moved)
        slot = self._free_slot(ground)
        if moved:
            # A snapshot may have half of two moments, and from `note` on nobody could tell.
            self._forget_snapshots()
        try:
            self._store.choose(step)
        except Exception as error:
            raise SaveFailed(step, error) from error
        flight = Flight(step, began, moved=ground.watch.moved, slot=slot)
        try:
            ground.note(flight, self._trainer, self._trainers_own_save, self._store)
            flight.protected = best_of(self._trainer)
            flight.taken = ground.take_restless(slot)
        except Exception as error:
            # The other processes have begun this save by now: they hear of it where all meet, at its end.
            flight.fault = error
        ground.watch.note()
        readers = readers_of_checkpoints(self._trainer)
        flight.is_waited_for = bool(readers)
        flight.stall_seconds = self._clock() - began
        flight.landed = self._worker.submit(self._landing.land, flight, ground)
        self._flight = flight
        if readers:
            self._preparing.warn_once(
                f"Training waits until each checkpoint is durable: {', '.join(readers)} may read it in on_save. "
                "A callback that does not says so by reads_checkpoints = False."
            )
            self.drain()
        elif ground.holds_training or understood.moves_between_steps(self._trainer):
            flight.copied.wait()
            ground.copies.hold_training()
            flight.stall_seconds = self._clock() - began

    def _wait_for_copies(self, ground: Ground, moved: set[int]) -> None:
        """After this weights may change: they were copied, or have moved before that."""
        flight = self._flight
        if flight is None or flight.is_released:
            return
        flight.release(moved)
        began = self._clock()
        flight.copied.wait()
        ground.copies.hold_training()
        flight.stall_seconds += self._clock() - began

    def _take_snapshot(self, ground: Ground) -> None:
        if self._snapshots is None or ground.slots < 2 or not ground.ready.done():
            return
        if not ground.still_fits():
            self._preparing.prepare()
            return
        self._snapshots.take(ground, self._free_slot(ground))

    def _forget_snapshots(self) -> None:
        if self._snapshots is not None:
            self._snapshots.forget()

    def _free_slot(self, ground: Ground) -> int:
        """Not the one that is being written, and of two that are not, the one with the older copy."""
        if ground.slots < 2 or self._snapshots is None:
            return 0
        under_way = self.under_way()
        taken = self._flight.slot if self._flight is not None and under_way is not None else self._snapshots.slot
        return 1 if taken == 0 else 0
