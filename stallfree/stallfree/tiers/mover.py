"""What happens to checkpoints after they are saved into a fast tier: copied to the slow one when due, then rotated."""

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

from stallfree.checkpoint.manifest import NotWhole
from stallfree.checkpoint.rotation import to_remove
from stallfree.events import Arrived, Event, LeftOut, Removed, Saved, Sink
from stallfree.saving.saver import SaveFailed
from stallfree.tiers.folder import FolderTier
from stallfree.tiers.storage import TierStorage

logger = logging.getLogger(__name__)


class Mover:
    """A sink for the saver's events; its own go to the same sink as those.

    One checkpoint is moved at a time, and one more may wait: a newer one takes its place, so that a slow disk never
    has a queue before it. The best so far always goes on: it is needed at the end of training.
    """

    def __init__(
        self,
        *,
        fast: FolderTier,
        slow: FolderTier,
        fast_keep: int,
        slow_keep: int | None,
        goes_on: Callable[[int], bool],
        best: Callable[[], Collection[int]],
        sink: Sink,
    ) -> None:
        self._fast = fast
        self._slow = slow
        self._fast_keep = fast_keep
        self._slow_keep = slow_keep
        self._goes_on = goes_on
        self._best = best
        self._sink = sink
        self._lock = threading.Lock()
        self._waiting: set[int] = set()
        self._moving: int | None = None
        self._newest: int | None = None
        self._arrived: int | None = None
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="stallfree-mover")
        self._work: Future[None] | None = None
        self.last_bytes: int | None = None

    def __call__(self, event: Event) -> None:
        self._sink(event)
        if isinstance(event, Saved):
            self._saved(event)

    def left_out(self, step: int, reason: str) -> None:
        """The fast tier cannot take this save."""
        self._leave_out(LeftOut(step=step, folder=self._fast.name, reason=reason))

    @contextmanager
    def moving(self) -> Iterator[None]:
        """However training ends, its newest checkpoint is in the slower tier before this is left."""
        try:
            yield
        except BaseException:
            # The error that ended training is raised, whatever happens here.
            try:
                self._bring_the_newest()
            except Exception:
                logger.exception("The newest checkpoint stays in %s alone.", self._fast.name)
            raise
        else:
            self._bring_the_newest()
            if self._newest is not None and self._arrived != self._newest:
                raise SaveFailed(self._newest, OSError(f"it stays in {self._fast.name} alone"))
        finally:
            self._worker.shutdown()

    def _saved(self, saved: Saved) -> None:
        self._newest, self.last_bytes = saved.step, saved.bytes
        goes_on = self._goes_on(saved.step)
        if saved.path == str(self._slow.path(saved.step)):
            self._arrived = saved.step
            self._rotate(self._slow, saved.step, self._slow_keep)
            return
        if goes_on or saved.step in self._best():
            self._move_later(saved.step)
        self._rotate_fast(saved.step)

    def _move_later(self, step: int) -> None:
        with self._lock:
            self._waiting = (self._waiting & set(self._best())) | {step}
            if self._work is None or self._work.done():
                self._work = self._worker.submit(self._move_all)

    def _move_all(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    # Set under the lock: a later call starts a new run.
                    self._work = None
                    return
                self._moving = min(self._waiting)
                self._waiting.remove(self._moving)
            self._move(self._moving)
            self._moving = None

    def _move(self, step: int) -> None:
        began = time.perf_counter()
        try:
            manifest = self._slow.put(self._fast.verify(step), self._fast.path(step))
        except (OSError, NotWhole) as error:
            self._leave_out(LeftOut(step=step, folder=self._slow.name, reason=str(error)))
            return
        self._arrived = max(step, self._arrived or 0)
        self._sink(
            Arrived(
                step=step,
                path=str(self._slow.path(step)),
                files=len(manifest.files),
                bytes=manifest.total_bytes,
                seconds=time.perf_counter() - began,
                manifest_crc64nvme=manifest.crc64nvme,
            )
        )
        self._rotate(self._slow, step, self._slow_keep)

    def _bring_the_newest(self) -> None:
        self._finish()
        if self._newest is not None and self._newest != self._arrived:
            self._move_later(self._newest)
            self._finish()

    def _finish(self) -> None:
        work = self._work
        if work is not None:
            work.result()

    def _rotate_fast(self, newest: int) -> None:
        with self._lock:
            on_their_way = self._waiting | {self._moving or newest}
        needed = on_their_way | set(self._best())
        for step in to_remove(self._fast.steps(), newest=newest, keep=self._fast_keep, protected=needed):
            self._fast.remove(step)

    def _rotate(self, tier: TierStorage, newest: int, keep: int | None) -> None:
        for step in to_remove(tier.steps(), newest=newest, keep=keep, protected=self._best()):
            self._sink(Removed(step))
            tier.remove(step)

    def _leave_out(self, event: LeftOut) -> None:
        logger.warning("Step %d does not go to %s: %s.", event.step, event.folder, event.reason)
        self._sink(event)
