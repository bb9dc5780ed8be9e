"""Training was asked to stop: what can still be made durable before the deadline."""

import logging
import time

from transformers import Trainer

from stallfree.events import StoppedAt
from stallfree.ranks import Ranks
from stallfree.saving.saver import SaveFailed, Saver
from stallfree.training.record import Record
from stallfree.training.step_times import StepTimes
from stallfree.training.stop import StopRequest

logger = logging.getLogger(__name__)

_CAUTION = 1.5
_MOST_MARGIN_SECONDS = 1.0
_LOOK_AGAIN_SECONDS = 0.02


class Emergency:
    """Never a state from inside a step: that could not be resumed exactly."""

    def __init__(
        self, *, trainer: Trainer, saver: Saver, record: Record, steps: StepTimes, stop: StopRequest, ranks: Ranks
    ) -> None:
        self._trainer = trainer
        self._saver = saver
        self._record = record
        self._steps = steps
        self._stop = stop
        self._ranks = ranks
        self._first_save_seconds: float | None = None
        self._resumed_step: int | None = None
        self.margin_seconds = min(_MOST_MARGIN_SECONDS, 0.1 * (stop.deadline_seconds or 0))
        """The time to exit."""

    def begin_at(self, resumed_step: int | None, *, first_save_seconds: float | None) -> None:
        self._resumed_step = resumed_step
        self._first_save_seconds = first_save_seconds

    def can_save(self) -> bool:
        """Will a save that begins now be durable before the deadline? Measured ones say so, or a guess before them."""
        if self._newest_step() is None and self._saver.snapshot_of_step() is None and self._saver.under_way() is None:
            # Otherwise all is lost, and a save that is cut off does no harm.
            return True
        saves = 2 if self._saver.under_way() is not None else 1
        return saves * self._save_seconds() <= self._stop.seconds_left() - self.margin_seconds

    def patience_seconds(self) -> float:
        """How long the end of the step can be waited for, before only what is in memory already can be saved."""
        left = self._stop.seconds_left() - self.margin_seconds
        if self._saver.snapshot_of_step() is None:
            return left
        step_left = (self._steps.slowest_seconds or 0.0) - self._steps.seconds_so_far()
        if step_left + self._save_seconds() > left:
            return 0.0
        return left - self._save_seconds()

    def fall_back(self) -> None:
        """No time for a new save: finish the one under way, or write the newest snapshot."""
        snapshot, under_way = self._saver.snapshot_of_step(), self._saver.under_way()
        if snapshot is not None and snapshot > max(under_way or 0, self._newest_step() or 0):
            try:
                self._saver.commit_snapshot(self._stop.seconds_left() - self.margin_seconds)
            except SaveFailed as error:
                logger.error("%s", error)
            return
        while self._saver.under_way() is not None and self._stop.seconds_left() > self.margin_seconds:
            time.sleep(_LOOK_AGAIN_SECONDS)

    def report(self) -> None:
        if not self._ranks.is_first:
            return
        step, saved = self._trainer.state.global_step, self._newest_step()
        deadline = self._stop.deadline_seconds
        left = self._stop.seconds_left() if deadline is not None else None
        lost = step - (saved or 0)
        logger.warning(
            "Asked to stop after step %s: %s, %s.%s",
            step,
            "no checkpoint stands" if saved is None else f"the newest checkpoint is of step {saved}",
            "no step is lost" if lost == 0 else f"{lost} step{'s' * (lost > 1)} lost",
            "" if left is None else f" {left:.1f} s before the deadline.",
        )
        self._record(StoppedAt(step, saved_step=saved, lost_steps=lost, seconds_left=left))

    def _newest_step(self) -> int | None:
        known = [step for step in (self._record.newest_step(), self._resumed_step) if step is not None]
        return max(known, default=None)

    def _save_seconds(self) -> float:
        return _CAUTION * (self._record.slowest_seconds() or self._first_save_seconds or 0.0)
