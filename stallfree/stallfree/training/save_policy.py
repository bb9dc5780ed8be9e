"""What to do when the save before is still being written, and when one fails."""

import logging
from collections.abc import Callable
from typing import Literal

from stallfree.events import NotSaved, Skipped
from stallfree.ranks import Ranks
from stallfree.saving.saver import SaveFailed, Saver, TornCopy
from stallfree.training.record import Record

logger = logging.getLogger(__name__)

WhenBusy = Literal["wait", "skip"]
OnError = Literal["raise", "survive"]


class SavePolicy:
    """There is never a queue: a save waits for the one before it, or is skipped with an event."""

    def __init__(
        self, saver: Saver, *, ranks: Ranks, record: Record, when_busy: WhenBusy = "wait", on_error: OnError = "raise"
    ) -> None:
        self._saver = saver
        self._ranks = ranks
        self._record = record
        self._when_busy = when_busy
        self._on_error = on_error
        self.newest_step = 0
        """The newest step that is saved, or is being saved as far as is known."""
        self._step_before = 0

    def begin_at(self, step: int) -> None:
        """What training resumes from is saved already."""
        self.newest_step = self._step_before = step

    def save(self, step: int, *, may_wait: bool, needed: bool) -> bool:
        """True: it was begun. One that may wait can be left out; the failure of one that is needed is not survived."""
        if self._when_busy == "skip" and may_wait and self._is_busy():
            self._record(Skipped(step, under_way=self._saver.under_way()))
            return False
        while True:
            try:
                self._saver.save()
            except SaveFailed as error:
                self._failed(error, needed=needed and error.step == step)
                if error.step == step:
                    return False
                # The save before failed; this one was not begun yet.
            else:
                self._step_before, self.newest_step = self.newest_step, step
                return True

    def before_update(self) -> None:
        self._surviving(self._saver.before_update)

    def drain(self, *, needed: bool = False) -> None:
        """Return when what was begun is durable. If it is needed, its failure is not survived."""
        self._surviving(self._saver.drain, needed=needed)

    def close(self) -> None:
        """Training is over. If it ends with an error, one of a save must not replace it."""
        try:
            self._saver.drain()
        except SaveFailed as error:
            self._report(error)
        self._saver.close()

    def _is_busy(self) -> bool:
        return self._ranks.any(self._saver.under_way() is not None)[0]

    def _surviving(self, work: Callable[[], None], *, needed: bool = False) -> None:
        try:
            work()
        except SaveFailed as error:
            self._failed(error, needed=needed)

    def _failed(self, error: SaveFailed, *, needed: bool) -> None:
        self._report(error)
        if error.step == self.newest_step:
            self.newest_step = self._step_before
        # The next save copies these weights at once: no reason to end training.
        ends_training = self._on_error == "raise" and not isinstance(error, TornCopy)
        if needed or ends_training:
            raise error

    def _report(self, error: SaveFailed) -> None:
        logger.error("%s", error)
        self._record(NotSaved(error.step, str(error)))
