"""One call of `Trainer.train`: when to save, when to stop, and what is left to do at its end."""

import functools
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torch.optim import Optimizer
from torch.utils.hooks import RemovableHandle
from transformers import Trainer, TrainerControl, TrainerState

from stallfree.cadence import Cadence
from stallfree.checkpoint.store import Store, step_of
from stallfree.exact.random_states import RandomStates
from stallfree.exact.training import ExactTraining
from stallfree.internals.replacing import replace, restore
from stallfree.internals.trainer import skip_all_steps
from stallfree.ranks import Ranks
from stallfree.saving.best import point_to_best
from stallfree.saving.saver import Saver
from stallfree.training.emergency import Emergency
from stallfree.training.first_save import seconds_of_a_first_save
from stallfree.training.record import Record
from stallfree.training.save_policy import OnError, SavePolicy, WhenBusy
from stallfree.training.step_times import StepTimes
from stallfree.training.stop import Interrupted, Stopped, StopRequest
from stallfree.training.watchdog import Watchdog

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
        when_busy: WhenBusy,
        on_error: OnError,
        deadline_seconds: float | None,
        exact_data: bool,
    ) -> None:
        self._trainer = trainer
        self._store = store
        self._saver = saver
        self._policy = SavePolicy(saver, ranks=ranks, record=record, when_busy=when_busy, on_error=on_error)
        self._ranks = ranks
        self._record = record
        self._cadence = cadence
        self._resumed = resumed
        self._exact = ExactTraining(trainer, resumed=resumed, exact_data=exact_data)
        self._step_times = StepTimes()
        self._stop = StopRequest(deadline_seconds=deadline_seconds)
        self._emergency = Emergency(
            trainer=trainer, saver=saver, record=record, steps=self._step_times, stop=self._stop, ranks=ranks
        )
        self._watchdog = Watchdog(
            self._stop,
            patience_seconds=self._emergency.patience_seconds,
            fall_back=self._emergency.fall_back,
            report=self._emergency.report,
            margin_seconds=self._emergency.margin_seconds,
        )
        self._stopping = False
        self._owed = False
        self._hook: RemovableHandle | None = None

    @contextmanager
    def attached(self) -> Iterator[None]:
        """While training runs, the Trainer saves through us, and SIGTERM is handled."""
        trainer = self._trainer
        replace(trainer, "_save_checkpoint", lambda model, trial: self.save())
        replace(trainer, "get_batch_samples", functools.partial(self._fetch, trainer.get_batch_samples))
        limit = trainer.args.save_total_limit
        try:
            with self._exact.attached(), self._stop.listening(), self._watchdog.watching():
                try:
                    yield
                finally:
                    self._policy.close()
        finally:
            if self._record.saves:
                logger.info("The checkpoints of this training:\n%s", self._record.table())
            self._detach_from_optimizer()
            trainer.args.save_total_limit = limit
            restore(trainer, "_save_checkpoint", "get_batch_samples", "_run_epoch")

    def begin(self, state: TrainerState, control: TrainerControl) -> None:
        self._policy.begin_at(state.global_step)
        self._attach_to_optimizer()
        self._emergency.begin_at(
            step_of(self._resumed) if self._resumed else None, first_save_seconds=self._first_save_guess()
        )
        if self._ranks.any(self._stop.asked)[0]:
            self._stop_here()
        point_to_best(self._trainer, self._store, self._resumed)
        self._exact.begin(state)
        if self._resumed and state.global_step >= state.max_steps:
            skip_all_steps(self._trainer)
            control.should_training_stop = True
        if self._cadence:
            self._cadence.saved()
        self._step_times.begin()

    def epoch_begins(self) -> None:
        self._exact.epoch_begins()

    def before_update(self) -> None:
        self._exact.summed_up()
        self._policy.before_update()

    def step_done(self, state: TrainerState, control: TrainerControl) -> None:
        self._exact.step_done()
        self._saver.after_update()
        for interfered in self._step_times.done(under_way=self._saver.under_way()):
            self._record(interfered)
        due = self._is_due(state.global_step)
        # One question for all three: each costs a round trip between processes.
        asked, due, failed = self._ranks.any(self._stop.asked, due, self._saver.has_failed)
        if failed:
            self._policy.drain()
        if asked and not self._stopping:
            self._begin_to_stop()
        # Owed until it is done: an evaluation in between may clear `should_save`.
        # The last step at once, and not after the evaluation that may follow it.
        self._owed = self._owed or due or self._stopping or state.global_step >= state.max_steps
        control.should_save = self._owed or (control.should_save and self._trainer_decides())
        if self._stopping:
            control.should_training_stop = True
            control.should_evaluate = False

    def epoch_done(self, control: TrainerControl) -> None:
        if self._stopping:
            self._leave()
        # An evaluation may follow, of other weights.
        self._saver.before_other_work()
        control.should_save = control.should_save and self._trainer_decides()

    def batch_evaluated(self) -> None:
        self._step_times.disturbed()
        # Between two steps, where all is consistent. Several processes finish their evaluation first:
        # one that left alone would leave the others waiting for its next batch.
        if self._stop.asked and self._ranks.count == 1:
            self._stop_here()

    def all_trained(self) -> None:
        """The last moment before the Trainer may load its best model over the newest."""
        self._policy.drain()
        self._save_if_behind()
        self._policy.drain(needed=True)
        # With a limit of 1 the Trainer would delete the newest beside the best.
        self._trainer.args.save_total_limit = None

    def save(self, *, for_the_last_time: bool = False) -> None:
        trainer = self._trainer
        step = trainer.state.global_step
        # The Trainer would load it at the end.
        is_best = trainer.args.load_best_model_at_end and trainer.state.best_global_step == step
        is_last = self._stopping or step >= trainer.state.max_steps
        if self._cadence:
            # Before it: the work at risk counts from the state that is saved.
            self._cadence.saved()
        if self._policy.save(step, may_wait=not (is_best or is_last), needed=is_best or for_the_last_time):
            self._step_times.save_began(step)
        self._owed = False

    def _attach_to_optimizer(self) -> None:
        """A subclass may call the optimizer in `training_step`, where the Trainer sends no event."""
        self._detach_from_optimizer()
        optimizer = getattr(self._trainer.optimizer, "optimizer", self._trainer.optimizer)
        if isinstance(optimizer, Optimizer):
            self._hook = optimizer.register_step_pre_hook(lambda *_: self._policy.before_update())

    def _detach_from_optimizer(self) -> None:
        if self._hook is not None:
            self._hook.remove()
            self._hook = None

    def _is_due(self, step: int) -> bool:
        # Only the first process knows how long saves take.
        if self._cadence is None or not self._ranks.is_first:
            return False
        due = self._cadence.is_due(step)
        while (unkept := self._cadence.unkept()) is not None:
            logger.warning(
                "A failure may cost %.1f s of work, and not at most %.1f s: %s.",
                unkept.at_risk_seconds,
                unkept.work_seconds,
                unkept.reason,
            )
            self._record(unkept)
        return due

    def _trainer_decides(self) -> bool:
        # Its best checkpoint must be one that was saved, so looking for the best needs its own saves as well.
        return self._cadence is None or self._trainer.args.load_best_model_at_end

    def _is_behind(self) -> bool:
        return self._trainer.state.global_step > self._policy.newest_step

    def _save_if_behind(self) -> None:
        trainer = self._trainer
        if self._is_behind():
            self.save(for_the_last_time=True)
            trainer.control = trainer.callback_handler.on_save(trainer.args, trainer.state, trainer.control)

    # ---- being asked to stop

    def _first_save_guess(self) -> float | None:
        if self._stop.deadline_seconds is None or not self._ranks.is_first:
            return None
        return seconds_of_a_first_save(self._trainer, self._store.staging)

    def _fetch(self, trainers_own: Callable[..., Any], *args: Any, **named: Any) -> Any:
        """The next step's batches. A wait for them can be interrupted: the state is still that of the last step."""
        self._exact.fetching()
        if self._ranks.count > 1:
            # The others would wait for this one in their next step.
            return trainers_own(*args, **named)
        random = RandomStates()
        try:
            with self._stop.interrupting():
                return trainers_own(*args, **named)
        except Interrupted:
            random.put_back()
            self._stop_here()

    def _begin_to_stop(self) -> None:
        """At the end of a step: the Trainer saves it, if there is time."""
        self._watchdog.take_over()
        self._stopping = True
        if self._ranks.any(self._is_behind() and not self._emergency.can_save())[0]:
            self._fall_back()

    def _stop_here(self) -> None:
        self._begin_to_stop()
        self._leave()

    def _leave(self) -> None:
        self._policy.drain()
        self._save_if_behind()
        self._policy.drain(needed=True)
        self._emergency.report()
        raise Stopped

    def _fall_back(self) -> None:
        self._emergency.fall_back()
        self._emergency.report()
        raise Stopped
