"""After a commit: the event that announces it, and the deletion of older checkpoints."""

from collections.abc import Collection

from stallfree.checkpoint.manifest import Manifest
from stallfree.checkpoint.rotation import to_remove
from stallfree.checkpoint.timing import Timing
from stallfree.events import Removed, Saved
from stallfree.saving.context import SaverContext


class Publisher:
    def __init__(self, context: SaverContext) -> None:
        self._store = context.store
        self._keep = context.keep
        self._sink = context.sink

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
            # The event first: a reader that misses a step must be able to know why.
            self._sink(Removed(step))
            self._store.remove(step)
