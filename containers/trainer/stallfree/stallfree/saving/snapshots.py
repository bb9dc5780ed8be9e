"""The newest step, whole in memory: what an emergency can still save when training itself no longer answers."""

import copy
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from stallfree.saving.assignment import Assignment
from stallfree.saving.flight import Flight
from stallfree.saving.grounds.ground import Ground
from stallfree.saving.moment import IN_MEMORY, Moment, bytes_as_file, note
from stallfree.saving.publish import best_of


class Snapshots:
    """After every step its state is copied, by a thread of its own: the one that writes may be busy with a save."""

    def __init__(self, task: Assignment, *, clock: Callable[[], float]) -> None:
        self._trainer = task.trainer
        self._trainers_own_save = task.trainer._save_checkpoint
        self._clock = clock
        self._store = task.store
        self._copier = ThreadPoolExecutor(1, thread_name_prefix="stallfree-snapshot")
        self._taking = threading.Lock()
        self._is_last = False
        self._newest: tuple[Flight, Ground] | None = None

    @property
    def slot(self) -> int | None:
        """Where the newest one stands."""
        return self._newest[0].slot if self._newest else None

    def take(self, ground: Ground, slot: int) -> None:
        """Begin to copy the state as it is now. Nothing is taken any more once someone asked for the last one."""
        with self._taking:
            if self._is_last:
                return
            flight = Flight(
                self._trainer.state.global_step,
                self._clock(),
                moved=ground.watch.moved,
                protected=best_of(self._trainer),
                slot=slot,
            )
            flight.moment = self._noted()
            flight.taken = ground.take_restless(slot)
            ground.watch.note()
            flight.landed = self._copier.submit(self._copy, flight, ground)
            self._newest = flight, ground

    def before_update(self, moved: set[int]) -> None:
        if self._newest is not None:
            flight, ground = self._newest
            flight.release(moved)
            flight.copied.wait()
            ground.copies.hold_training()

    def forget(self) -> None:
        """Its memory is to be laid out anew, or something changed that no one noted."""
        if self._newest is not None:
            self._newest[0].copied.wait()
        self._newest = None

    def newest(self) -> tuple[Flight, Ground] | None:
        """None, if there is none that is whole. A copy that has begun ends by itself, whatever training does."""
        if self._newest is None:
            return None
        flight, ground = self._newest
        assert flight.landed is not None, "it was begun when it was taken"
        return None if flight.landed.exception() is not None or flight.spoiled() else (flight, ground)

    def last(self) -> tuple[Flight, Ground] | None:
        with self._taking:
            self._is_last = True
        return self.newest()

    def close(self) -> None:
        self._copier.shutdown()
        self._newest = None

    def _noted(self) -> Moment:
        kept = copy.deepcopy(self._trainer.state.stateful_callbacks)
        try:
            return note(self._trainer, self._trainers_own_save, self._store)
        finally:
            # What callbacks keep is added to at every save, and this is none.
            self._trainer.state.stateful_callbacks = kept

    def _copy(self, flight: Flight, ground: Ground) -> None:
        try:
            with tempfile.TemporaryDirectory(prefix="stallfree-", dir=IN_MEMORY) as folder:
                flight.images = ground.copy(flight, Path(folder))
                # What cannot be laid out was written.
                for slow in Path(folder).iterdir():
                    flight.moment.files[slow.name] = bytes_as_file(slow.read_bytes())
        finally:
            flight.copied.set()
        ground.copies.finish()
