"""The commit step: copies in memory are written, made durable in all processes, committed and announced."""

from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from stallfree.checkpoint.durable import flush
from stallfree.checkpoint.manifest import File, Manifest, describe
from stallfree.checkpoint.timing import Timing, phase
from stallfree.direct_io import writing
from stallfree.ranks import Ranks
from stallfree.saving.buffers.staging_buffer import StagingBuffer
from stallfree.saving.context import SaverContext
from stallfree.saving.images.image import Image
from stallfree.saving.publish import Publisher
from stallfree.saving.save_in_progress import Part, SaveInProgress
from stallfree.saving.saver import SaveFailed, TornCopy

_WRITERS = 2


class Committer:
    """Writes and commits in the background. Made by all processes at the same point."""

    def __init__(self, context: SaverContext, *, clock: Callable[[], float]) -> None:
        self._trainer = context.trainer
        self._store = context.store
        self._is_first = context.ranks.is_first
        self._ranks = Ranks()
        """Connections of its own to the same processes, for the thread that writes."""
        self._publisher = Publisher(context)
        self._clock = clock
        # Two threads beside the writers: for the archive's CRC-32s, and for the manifest's checksums.
        self._helpers = ThreadPoolExecutor(_WRITERS + 2, thread_name_prefix="stallfree-helper")

    def commit(self, save: SaveInProgress, buffer: StagingBuffer) -> None:
        timing = Timing(clock=self._clock)
        try:
            with timing.recording():
                self._ranks.from_first(lambda: self._store.stage(save.step))
                parts = self._ranks.together(lambda: self._write_part(save, buffer))
                torn = [name for part in parts for name in part.torn]
                if torn:
                    raise TornCopy(save.step, torn)
                # No manifest before every process's part is durable; a save ends the same way in all of them.
                manifest = self._ranks.from_first(lambda: self._commit(save, parts))
        except SaveFailed:
            self._discard(save)
            raise
        except Exception as error:
            self._discard(save)
            raise SaveFailed(save.step, error) from error
        finally:
            # Also after a fault: training waits for this.
            save.copied.set()
        durable_seconds = self._clock() - save.began
        if self._is_first:
            self._publisher.committed(
                manifest,
                stall_seconds=durable_seconds if save.is_waited_for else save.stall_seconds,
                durable_seconds=durable_seconds,
                timing=timing,
                protected=save.protected,
            )

    def commit_snapshot(self, save: SaveInProgress, buffer: StagingBuffer) -> None:
        """The copies exist already; the calling thread waits for the disk."""
        timing = Timing(clock=self._clock)
        began = self._clock()
        try:
            with timing.recording(), phase("write"):
                self._store.choose(save.step)
                staged = self._store.stage(save.step)
                save.captured.write(staged)
                buffer.write_static(staged)
                manifest = self._store.commit(save.step, self._write(save.images, staged))
        except Exception as error:
            self._store.discard(save.step)
            raise SaveFailed(save.step, error) from error
        self._publisher.committed(
            manifest,
            stall_seconds=0.0,
            durable_seconds=self._clock() - began,
            timing=timing,
            protected=save.protected,
        )

    def close(self) -> None:
        self._helpers.shutdown()

    def _write_part(self, save: SaveInProgress, buffer: StagingBuffer) -> Part:
        """This process's files of a checkpoint; they are durable when this returns."""
        staged = self._store.staging / f"checkpoint-{save.step}"
        try:
            if save.fault is not None:
                raise save.fault
            with phase("copy"):
                images = buffer.copy(save, staged)
        finally:
            save.copied.set()
        with phase("copy"):
            buffer.copies.finish()
        with phase("write"):
            buffer.write_static(staged)
            save.captured.write(staged)
            files = [*save.written, *self._write(images, staged)]
            if not self._is_first:
                files += _flushed(staged, save.captured.files)
        return Part(files, torn=buffer.names(save.torn()))

    def _write(self, images: list[Image], staged: Path) -> list[File]:
        # First in the queue: a writer waits for the seal of its file, which then is already running.
        sealed = [self._helpers.submit(image.seal) for image in images]
        described = []
        for image, seal in zip(images, sealed, strict=True):
            described.append(self._helpers.submit(image.describe))
            writing.write_durably(
                staged / image.layout.name,
                image.whole_pages,
                image.layout.size_bytes,
                self._helpers,
                image.wait_until_final,
            )
            seal.result()
        return [file.result() for file in described]

    def _commit(self, save: SaveInProgress, parts: list[Part]) -> Manifest:
        return self._store.commit(save.step, [file for part in parts for file in part.files])

    def _discard(self, save: SaveInProgress) -> None:
        if self._is_first:
            self._store.discard(save.step)


def _flushed(staged: Path, names: Collection[str]) -> list[File]:
    for name in names:
        flush(staged / name)
    return [describe(staged, name) for name in names]
