"""One call of `Trainer.train`: when to save, when to stop, and what is left to do at its end."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from transformers import Trainer, TrainerControl, TrainerState

from stallfree.cadence import Cadence
from stallfree.checkpoint.store import Store
from stallfree.ranks import Ranks
from stallfree.record import Record
from stallfree.saving.saver import Saver
from stallfree.steps import Steps
from stallfree.stop import Stopped, StopRequest
from stallfree.trainer_files import find_best_again, shadow, skip_the_steps, unshadow

logger = logging.getLogger(__name__)


class Session:
    def __init__(
        self,
        *,
        trainer: Trainer,
        store: Store,
        saver: Saver,
        ranks: Ranks,
        record: Record,
        cadence: Cadence | None,
        resumed: Path | None,
    ) -> None:
        self._trainer = trainer
        self._store = store
        self._saver = saver
        self._ranks = ranks
        self._record = record
        self._cadence = cadence
        self._resumed = resumed
        self._steps = Steps()
        self._stop = StopRequest()
        self._stopping = False
        self._owed = False
        self._last_step_saved = 0

    @contextmanager
    def attached(self) -> Iterator[None]:
        """While training runs, the Trainer saves through us, rotates nothing and hears SIGTERM."""
        trainer = self._trainer
        shadow(trainer, "_save_checkpoint", lambda model, trial: self.save())
        limit, trainer.args.save_total_limit = trainer.args.save_total_limit, None
        try:
            with self._stop.listening():
                yield
        finally:
            self._saver.close()
            if self._record.saves:
                logger.info("The checkpoints of this training:\n%s", self._record.table())
            trainer.args.save_total_limit = limit
            unshadow(trainer, "_save_checkpoint", "_run_epoch")

    def begin(self, state: TrainerState, control: TrainerControl) -> None:
        if self._ranks.any(self._stop.asked)[0]:
            raise Stopped
        self._last_step_saved = state.global_step
        find_best_again(self._trainer, self._store, self._resumed)
        if self._resumed and state.global_step >= state.max_steps:
            skip_the_steps(self._trainer)
            control.should_training_stop = True
        if self._cadence:
            self._cadence.saved()
        self._steps.begin()

    def before_update(self) -> None:
        self._saver.before_update()

    def step_done(self, state: TrainerState, control: TrainerControl) -> None:
        self._saver.after_update()
        for interfered in self._steps.done(under_way=self._saver.under_way()):
            self._record(interfered)
        due = self._cadence is not None and self._cadence.is_due(state.global_step)
        # One question for all: each costs training a round trip between its processes.
        self._stopping, due, failed = self._ranks.any(self._stop.asked, due, self._saver.has_failed)
        if failed:
            self._saver.drain()
        # Owed until it is done: an evaluation in between may take the order to save away again.
        # The last step at once, and not after the evaluation that may follow it.
        self._owed = self._owed or due or self._stopping or state.global_step >= state.max_steps
        control.should_save = self._owed or (control.should_save and self._trainer_decides())
        if self._stopping:
            control.should_training_stop = True
            control.should_evaluate = False

    def epoch_done(self, control: TrainerControl) -> None:
        if self._stopping:
            self._leave()
        control.should_save = control.should_save and self._trainer_decides()

    def batch_evaluated(self) -> None:
        self._steps.disturbed()
        # Between two steps, where all is consistent. Several processes finish their evaluation first:
        # one that left alone would leave the others waiting for its next batch.
        if self._stop.asked and self._trainer.args.world_size == 1:
            self._save_if_behind()
            self._leave()

    def all_trained(self) -> None:
        """The last moment before the Trainer may load its best model over the newest."""
        self._save_if_behind()
        self._saver.drain()

    def save(self) -> None:
        step = self._trainer.state.global_step
        self._steps.save_began(step)
        self._saver.save()
        self._last_step_saved = step
        self._owed = False
        if self._cadence:
            self._cadence.saved()

    def _trainer_decides(self) -> bool:
        # Its best checkpoint must be one that was saved, so looking for the best needs its own saves as well.
        return self._cadence is None or self._trainer.args.load_best_model_at_end

    def _save_if_behind(self) -> None:
        trainer = self._trainer
        if trainer.state.global_step > self._last_step_saved:
            self.save()
            trainer.control = trainer.callback_handler.on_save(trainer.args, trainer.state, trainer.control)

    def _leave(self) -> None:
        self._saver.drain()
        raise Stopped
