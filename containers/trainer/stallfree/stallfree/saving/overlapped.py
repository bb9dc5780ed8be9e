"""Saving while training goes on: a copy during the next forward and backward pass, then direct writes."""

import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from transformers import Trainer

from stallfree.checkpoint.durable import flush
from stallfree.checkpoint.manifest import File, Manifest, describe
from stallfree.checkpoint.store import Store
from stallfree.events import Sink
from stallfree.memory import available_bytes
from stallfree.ranks import PeerFailed, Ranks
from stallfree.saving import direct, sharded, understood
from stallfree.saving.flight import Flight, Part
from stallfree.saving.ground import Ground, optimizer_bytes_of
from stallfree.saving.image import Image
from stallfree.saving.layout import CannotOverlap
from stallfree.saving.parts import take_model_apart, write_small_files
from stallfree.saving.publish import Publisher, best_of
from stallfree.saving.saver import PlainSaver, SaveFailed
from stallfree.saving.snapshots import Snapshots
from stallfree.saving.staging import copies_for
from stallfree.timing import Timing, phase
from stallfree.trainer_files import names_of_own_files

logger = logging.getLogger(__name__)

_SHARE_OF_SPARE_MEMORY = 0.9
_WRITERS = 2


class OverlappedSaver:
    """One copy of the state, kept in memory as the files that it is to become.

    A save waits for the one before it, so there is never more than one copy, nor a queue. What cannot be laid out
    is saved by the PlainSaver, with one warning that says why. Of several processes the first copies and writes what
    all share, each its own shards and random state; they overlap, go plain, and fail together.

    snapshots: copy the state after every step, so that an emergency saves the newest one without asking training for
    anything. That takes a second copy of memory, some milliseconds of each step for the small files, and one process.
    """

    def __init__(
        self,
        *,
        trainer: Trainer,
        store: Store,
        ranks: Ranks,
        keep: int | None,
        sink: Sink,
        snapshots: bool = False,
        clock: Callable[[], float] = time.perf_counter,
        spare_bytes: Callable[[], int] = available_bytes,
    ) -> None:
        self._plain = PlainSaver(trainer=trainer, store=store, ranks=ranks, keep=keep, sink=sink, clock=clock)
        self._trainer = trainer
        self._trainers_own_save = trainer._save_checkpoint
        self._store = store
        self._ranks = ranks
        self._ranks_behind = Ranks()
        """The same processes, for the thread that writes."""
        self._publisher = Publisher(store=store, keep=keep, sink=sink)
        self._clock = clock
        self._spare_bytes = spare_bytes
        self._is_plain = False
        self._warned: set[str] = set()
        self._snapshots: Snapshots | None = None
        if snapshots and ranks.count > 1:
            self._warn_once("There are no snapshots of steps: several processes train together.")
        elif snapshots:
            self._snapshots = Snapshots(
                trainer=trainer, trainers_own_save=trainer._save_checkpoint, store=store, clock=clock
            )
        self._ground: Ground | None = None
        self._flight: Flight | None = None
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="stallfree")
        # Two more than write: the checksums of the archive's own kind, and of ours.
        self._helpers = ThreadPoolExecutor(_WRITERS + 2, thread_name_prefix="stallfree-helper")

    def save(self) -> None:
        began = self._clock()
        self.drain()
        ground = self._current_ground()
        if ground is None:
            self._plain.save()
        else:
            self._begin(ground, began)

    def before_update(self) -> None:
        ground, flight = self._ground, self._flight
        if ground is None:
            return
        moved = ground.watch.moved()
        if flight is not None:
            flight.release(moved)
            began = self._clock()
            flight.copied.wait()
            ground.copies.hold_training()
            flight.stall_seconds += self._clock() - began
        if self._snapshots is not None:
            self._snapshots.before_update(moved)
        ground.learn(moved)
        ground.was_watched = True

    def after_update(self) -> None:
        if self._ground is None and not self._is_plain:
            self._prepare()
        if self._ground is not None:
            self._ground.watch.note()
            self._take_snapshot(self._ground)

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
        self._land(flight, ground)
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
        self._helpers.shutdown()
        self._ground = None

    # ---- getting ready

    def _current_ground(self) -> Ground | None:
        """Where to copy to, laid out anew if the state is no longer what it was."""
        if self._is_plain:
            return None
        fits = self._ground is not None and self._ground.still_fits(self._trainer)
        # Where one must lay out anew, all do: they answer the same questions in the same order.
        if self._ranks.any(not fits)[0]:
            self._prepare()
        if self._ground is not None and not self._ground.is_ready_everywhere:
            self._wait_for_memory(self._ground)
        return self._ground

    def _wait_for_memory(self, ground: Ground) -> None:
        refusal = None
        try:
            ground.ready.result()
        except (OSError, MemoryError) as error:
            refusal = f"memory was refused: {error}"
        ground.is_ready_everywhere = self._all_overlap(refusal)

    def _prepare(self) -> None:
        # The memory of an earlier layout is given back before more is asked for.
        if self._snapshots is not None:
            self._snapshots.forget()
        self._ground, obstacle = None, None
        try:
            self._ground = self._laid_out()
        except (CannotOverlap, PeerFailed) as reason:
            obstacle = str(reason)
        except Exception as error:
            logger.exception("Laying out the checkpoint failed.")
            obstacle = repr(error)
        self._all_overlap(obstacle)

    def _all_overlap(self, obstacle: str | None) -> bool:
        """Unless one process sees an obstacle: then all go plain, for a save that some only wait for never ends."""
        obstacles = [seen for seen in self._ranks.together(lambda: obstacle) if seen is not None]
        if obstacles:
            self._go_plain(obstacles[0])
        return not obstacles

    def _laid_out(self) -> Ground:
        if self._trainer.is_fsdp_enabled:
            ground: Ground = sharded.take_apart(
                self._trainer, self._ranks, lambda: understood.check(self._trainer), warn=self._warn_once
            )
            # All processes of this machine take theirs at the same time.
            self._check_memory(ground.size_bytes * sharded.processes_here())
        else:
            understood.check(self._trainer)
            ground = self._ground_with(slots=2 if self._snapshots is not None else 1)
            self._check_memory(ground.size_bytes)
        ground.ready = self._worker.submit(ground.take_memory)
        return ground

    def _ground_with(self, *, slots: int) -> Ground:
        ground = Ground(
            take_model_apart(self._trainer),
            optimizer_bytes_of(self._trainer),
            copies=copies_for(understood.devices_of(self._trainer)),
            warn=self._warn_once,
            slots=slots,
        )
        if slots > 1 and not self._has_memory(ground.size_bytes):
            self._warn_once(f"There are no snapshots of steps: they take {ground.size_bytes} bytes of memory.")
            return self._ground_with(slots=1)
        return ground

    def _has_memory(self, needed: int) -> bool:
        return needed <= self._spare_bytes() * _SHARE_OF_SPARE_MEMORY

    def _check_memory(self, needed: int) -> None:
        spare = self._spare_bytes()
        if needed > spare * _SHARE_OF_SPARE_MEMORY:
            raise CannotOverlap(f"a copy of its state takes {needed} bytes of memory, and {spare} are to be had")

    def _go_plain(self, reason: str) -> None:
        self._is_plain = True
        self._ground = None
        self._warn_once(f"Checkpoints are written while training waits: {reason}.")

    def _warn_once(self, text: str) -> None:
        if self._ranks.is_first and text not in self._warned:
            self._warned.add(text)
            logger.warning(text)

    # ---- one save

    def _begin(self, ground: Ground, began: float) -> None:
        step = self._trainer.state.global_step
        moved = ground.watch.moved()
        ground.learn(moved)
        slot = self._free_slot(ground)
        if moved and self._snapshots is not None:
            # It may have half of two moments, and from `note` on nobody could tell.
            self._snapshots.forget()
        try:
            self._ranks.from_first(lambda: self._store.stage(step))
        except Exception as error:
            raise SaveFailed(step, error) from error
        flight = Flight(step, began, best_of(self._trainer), moved=ground.watch.moved, slot=slot)
        try:
            flight.moment = write_small_files(self._trainer, self._trainers_own_save, self._store)
            flight.taken = ground.take_restless(slot)
        except Exception as error:
            # The other processes have begun this save by now: they hear of it where all meet, at its end.
            flight.fault = error
        ground.watch.note()
        flight.stall_seconds = self._clock() - began
        flight.landed = self._worker.submit(self._fly, flight, ground)
        self._flight = flight
        if understood.moves_between_steps(self._trainer):
            flight.copied.wait()
            ground.copies.hold_training()
            flight.stall_seconds = self._clock() - began

    def _fly(self, flight: Flight, ground: Ground) -> None:
        timing = Timing(clock=self._clock)
        try:
            with timing.recording():
                parts = self._ranks_behind.together(lambda: self._write_part(flight, ground))
                # No manifest before every process's part is durable; a save ends in all, and ends the same way.
                manifest = self._ranks_behind.from_first(lambda: self._commit(flight, parts))
        except Exception as error:
            if self._ranks.is_first:
                self._store.discard(flight.step)
            raise SaveFailed(flight.step, error) from error
        if manifest is not None and self._ranks.is_first:
            self._publisher.committed(
                manifest,
                stall_seconds=flight.stall_seconds,
                durable_seconds=self._clock() - flight.began,
                timing=timing,
                protected=flight.protected,
            )

    def _take_snapshot(self, ground: Ground) -> None:
        if self._snapshots is None or ground.slots < 2 or not ground.ready.done():
            return
        if not ground.still_fits(self._trainer):
            self._prepare()
            return
        self._snapshots.take(ground, self._free_slot(ground))

    def _free_slot(self, ground: Ground) -> int:
        """Not the one that is being written, and of two that are not, the one with the older copy."""
        if ground.slots < 2 or self._snapshots is None:
            return 0
        under_way = self.under_way()
        taken = self._flight.slot if self._flight is not None and under_way is not None else self._snapshots.slot
        return 1 if taken == 0 else 0

    def _land(self, flight: Flight, ground: Ground) -> None:
        """A snapshot becomes a checkpoint, in the thread that asks for it."""
        timing = Timing(clock=self._clock)
        began = self._clock()
        try:
            with timing.recording(), phase("write"):
                staged = self._store.stage(flight.step)
                for name, content in flight.small_files.items():
                    (staged / name).write_bytes(content)
                ground.write_static(staged)
                flight.moment.write_state(staged)
                manifest = self._store.commit(flight.step, self._write(flight.images, staged))
        except Exception as error:
            self._store.discard(flight.step)
            raise SaveFailed(flight.step, error) from error
        self._publisher.committed(
            manifest,
            stall_seconds=0.0,
            durable_seconds=self._clock() - began,
            timing=timing,
            protected=flight.protected,
        )

    def _write_part(self, flight: Flight, ground: Ground) -> Part:
        """What this process has to do with a checkpoint, up to where it is durable."""
        staged = self._store.staging / f"checkpoint-{flight.step}"
        try:
            if flight.fault is not None:
                raise flight.fault
            with phase("copy"):
                images = ground.copy(flight, staged)
        finally:
            flight.copied.set()
        with phase("copy"):
            ground.copies.finish()
        with phase("write"):
            ground.write_static(staged)
            files = self._write(images, staged)
            if self._ranks.is_first:
                flight.moment.write_state(staged)
            else:
                files += self._flushed(staged, names_of_own_files(self._trainer))
        return Part(files, spoiled=ground.names(flight.spoiled()))

    def _flushed(self, staged: Path, names: list[str]) -> list[File]:
        for name in names:
            flush(staged / name)
        return [describe(staged, name) for name in names]

    def _write(self, images: list[Image], staged: Path) -> list[File]:
        # First in the queue: whoever waits for what a seal settles waits for one that runs.
        sealed = [self._helpers.submit(image.seal) for image in images]
        described = []
        for image, seal in zip(images, sealed, strict=True):
            described.append(self._helpers.submit(image.describe))
            direct.write_durably(
                staged / image.layout.name,
                image.whole_pages,
                image.layout.size_bytes,
                self._helpers,
                image.wait_until_settled,
            )
            seal.result()
        return [file.result() for file in described]

    def _commit(self, flight: Flight, parts: list[Part]) -> Manifest | None:
        if spoiled := [name for part in parts for name in part.spoiled]:
            # Half of two moments: no checkpoint. From the next save on they are copied before training goes on.
            self._store.discard(flight.step)
            names = ", ".join(spoiled)
            logger.warning("Step %s is not saved: %s changed before the optimizer's step.", flight.step, names)
            return None
        return self._store.commit(flight.step, [file for part in parts for file in part.files])
