"""From copies in memory to a checkpoint: written, summed, durable in all processes, committed and told."""

from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from stallfree.checkpoint.durable import flush
from stallfree.checkpoint.manifest import File, Manifest, describe
from stallfree.images import direct
from stallfree.images.image import Image
from stallfree.ranks import Ranks
from stallfree.saving.assignment import Assignment
from stallfree.saving.flight import Flight, Part
from stallfree.saving.grounds.ground import Ground
from stallfree.saving.publish import Publisher
from stallfree.saving.saver import SaveFailed, Spoiled
from stallfree.timing import Timing, phase

_WRITERS = 2


class Landing:
    """What happens behind training. Made by all processes at the same point."""

    def __init__(self, task: Assignment, *, clock: Callable[[], float]) -> None:
        self._trainer = task.trainer
        self._store = task.store
        self._is_first = task.ranks.is_first
        self._ranks = Ranks()
        """The same processes as training's, for the thread that writes."""
        self._publisher = Publisher(task)
        self._clock = clock
        # Two more than write: the checksums of the archive's own kind, and of ours.
        self._helpers = ThreadPoolExecutor(_WRITERS + 2, thread_name_prefix="stallfree-helper")

    def land(self, flight: Flight, ground: Ground) -> None:
        timing = Timing(clock=self._clock)
        try:
            with timing.recording():
                self._ranks.from_first(lambda: self._store.stage(flight.step))
                parts = self._ranks.together(lambda: self._write_part(flight, ground))
                spoiled = [name for part in parts for name in part.spoiled]
                if spoiled:
                    raise Spoiled(flight.step, spoiled)
                # No manifest before every process's part is durable; a save ends in all, and ends the same way.
                manifest = self._ranks.from_first(lambda: self._commit(flight, parts))
        except SaveFailed:
            self._discard(flight)
            raise
        except Exception as error:
            self._discard(flight)
            raise SaveFailed(flight.step, error) from error
        finally:
            # Also after a fault before it: training may not wait for what does not come.
            flight.copied.set()
        durable_seconds = self._clock() - flight.began
        if self._is_first:
            self._publisher.committed(
                manifest,
                stall_seconds=durable_seconds if flight.is_waited_for else flight.stall_seconds,
                durable_seconds=durable_seconds,
                timing=timing,
                protected=flight.protected,
            )

    def land_snapshot(self, flight: Flight, ground: Ground) -> None:
        """Its copies are there already, and it is the caller's thread that waits for the disk."""
        timing = Timing(clock=self._clock)
        began = self._clock()
        try:
            with timing.recording(), phase("write"):
                self._store.choose(flight.step)
                staged = self._store.stage(flight.step)
                flight.moment.write(staged)
                ground.write_static(staged)
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

    def close(self) -> None:
        self._helpers.shutdown()

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
            flight.moment.write(staged)
            files = [*flight.written, *self._write(images, staged)]
            if not self._is_first:
                files += _flushed(staged, flight.moment.files)
        return Part(files, spoiled=ground.names(flight.spoiled()))

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

    def _commit(self, flight: Flight, parts: list[Part]) -> Manifest:
        return self._store.commit(flight.step, [file for part in parts for file in part.files])

    def _discard(self, flight: Flight) -> None:
        if self._is_first:
            self._store.discard(flight.step)


def _flushed(staged: Path, names: Collection[str]) -> list[File]:
    for name in names:
        flush(staged / name)
    return [describe(staged, name) for name in names]
