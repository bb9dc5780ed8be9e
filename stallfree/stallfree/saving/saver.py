"""What a saver is, and the plain one. Another way of saving implements this protocol."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from stallfree.checkpoint.durable import flush_tree
from stallfree.checkpoint.manifest import File, Manifest, describe, names_in
from stallfree.checkpoint.timing import Timing, phase
from stallfree.internals.trainer import write_checkpoint
from stallfree.saving.best import best_of
from stallfree.saving.context import SaverContext
from stallfree.saving.publish import Publisher


class SaveFailed(Exception):
    """A checkpoint could not be written. The ones before it are untouched."""

    def __init__(self, step: int, error: BaseException) -> None:
        self.step = step
        super().__init__(f"The checkpoint of step {step} could not be saved; older ones are untouched: {error}")


class TornCopy(SaveFailed):
    """Weights changed while they were copied, so the copy mixes two states. The next save copies them at once."""

    def __init__(self, step: int, names: Sequence[str]) -> None:
        super().__init__(step, RuntimeError(f"{', '.join(names)} changed before the optimizer's step"))


class Saver(Protocol):
    """What training needs of a way of saving. All processes of a training call it at the same steps."""

    def save(self) -> None:
        """Begin to save the current step. Training goes on when this returns."""

    def before_update(self) -> None:
        """The optimizer is about to change the weights: what still needs the old ones is copied before this returns."""

    def before_other_work(self) -> None:
        """An evaluation or the like comes next, and may swap the weights: the same, without an update."""

    def after_update(self) -> None:
        """The optimizer has changed the weights, and nothing else was done since."""

    @property
    def has_failed(self) -> bool:
        """A save has failed in this process: all processes are to call `drain`, which raises the error."""

    def under_way(self) -> int | None:
        """The step of the save that was begun and is not yet durable. There is never more than one."""

    def snapshot_of_step(self) -> int | None:
        """The newest step that is whole in memory, so that it can be committed while training is inside a later one."""

    def commit_snapshot(self, seconds_left: float) -> int:
        """Make the newest snapshot durable, after the save that is under way, and announce it; returns its step.

        Called when this process is about to end: by the training thread between two steps, or by another one while
        the training thread is stuck anywhere, and then training never goes on. SaveFailed, if it cannot be done.
        """

    def drain(self) -> None:
        """Return when everything that was begun is durable; raise what went wrong, the same in all processes."""

    def close(self) -> None:
        """Training is over, well or not: finish what was begun, and free memory and threads."""


MakeSaver = Callable[[SaverContext], Saver]


class PlainSaver:
    """The Trainer writes its own files while training waits; then they are committed."""

    def __init__(self, context: SaverContext, *, clock: Callable[[], float] = time.perf_counter) -> None:
        self._trainer = context.trainer
        self._trainers_own_save = context.trainer._save_checkpoint
        self._store = context.store
        self._ranks = context.ranks
        self._publisher = Publisher(context)
        self._clock = clock

    def save(self) -> None:
        step = self._trainer.state.global_step
        began = self._clock()
        timing = Timing(clock=self._clock)
        with timing.recording():
            manifest = self._write_and_commit(step)
        seconds = self._clock() - began
        if self._ranks.is_first:
            self._publisher.committed(
                manifest,
                stall_seconds=seconds,
                durable_seconds=seconds,
                timing=timing,
                protected=best_of(self._trainer),
            )

    def before_update(self) -> None:
        """Nothing is left to copy: `save` returns when all is written."""

    def before_other_work(self) -> None:
        """The same."""

    def after_update(self) -> None:
        """Nothing to get ready."""

    @property
    def has_failed(self) -> bool:
        """`save` itself says so."""
        return False

    def under_way(self) -> int | None:
        return None

    def snapshot_of_step(self) -> int | None:
        return None

    def commit_snapshot(self, seconds_left: float) -> int:
        raise NotImplementedError("there is no snapshot")

    def drain(self) -> None:
        """Nothing is under way: `save` returns when all is durable."""

    def close(self) -> None:
        """Nothing was taken."""

    def _write_and_commit(self, step: int) -> Manifest:
        try:
            self._store.choose(step)
            staged = self._ranks.from_first(lambda: self._store.stage(step))
            with phase("write"):
                self._ranks.together(
                    lambda: write_checkpoint(
                        self._trainer, self._trainers_own_save, self._store, into=self._store.staging
                    )
                )
            parts = self._ranks.together(lambda: self._make_durable(staged))
            # No manifest before every process's part is durable; no process goes on, or exits, before it is there.
            return self._ranks.from_first(lambda: self._store.commit(step, [file for part in parts for file in part]))
        except Exception as error:
            if self._ranks.is_first:
                self._store.discard(step)
            raise SaveFailed(step, error) from error

    def _make_durable(self, staged: Path) -> list[File]:
        """Each machine flushes what its processes wrote, and all processes share the reading for the checksums."""
        if self._ranks.count == 1:
            return []  # The commit does both.
        if self._trainer.args.local_process_index == 0:
            flush_tree(staged)
        return [describe(staged, name) for name in names_in(staged)[self._ranks.number :: self._ranks.count]]
