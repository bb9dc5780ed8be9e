"""What follows a commit: the event that tells of it, and the rotation that it makes room for."""

from collections.abc import Collection
from pathlib import Path

from transformers import Trainer

from stallfree.checkpoint.manifest import Manifest
from stallfree.checkpoint.rotation import to_remove
from stallfree.checkpoint.store import step_of
from stallfree.events import Removed, Saved
from stallfree.saving.assignment import Assignment
from stallfree.timing import Timing


def best_of(trainer: Trainer) -> set[int]:
    """What rotation must leave alone: the best that was saved, and a better step that may just be being saved."""
    state = trainer.state
    if not state.best_model_checkpoint:
        return set()
    steps = (step_of(Path(state.best_model_checkpoint)), state.best_global_step)
    return {step for step in steps if step}


class Publisher:
    def __init__(self, task: Assignment) -> None:
        self._store = task.store
        self._keep = task.keep
        self._sink = task.sink

    def committed(
        self,
        manifest: Manifest,
        *,
        stall_seconds: float,
        durable_seconds: float,
        timing: Timing,
        protected: Collection[int],
    ) -> None:
        self._sink(
            Saved(
                step=manifest.step,
                path=str(self._store.path(manifest.step)),
                files=len(manifest.files),
                bytes=manifest.total_bytes,
                stall_seconds=stall_seconds,
                durable_seconds=durable_seconds,
                manifest_crc64nvme=manifest.crc64nvme,
                copy_seconds=timing.seconds("copy"),
                write_seconds=timing.seconds("write"),
                fsync_seconds=timing.seconds("fsync"),
                commit_seconds=timing.seconds("commit"),
            )
        )
        for step in to_remove(self._store.steps(), newest=manifest.step, keep=self._keep, protected=protected):
            # Said before it is done: a reader that misses a step must be able to know why.
            self._sink(Removed(step))
            self._store.remove(step)
