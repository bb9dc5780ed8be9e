"""The one line that makes an unmodified Trainer save, resume and stop safely."""

import functools
import logging
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from transformers import Trainer, TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from stallfree.cadence import Cadence
from stallfree.checkpoint.store import Store
from stallfree.events import Arrived, Event, Sink
from stallfree.internals.check import check
from stallfree.internals.replacing import replace
from stallfree.internals.trainer import trainer_calling
from stallfree.loading.content import Content
from stallfree.loading.deepspeed import loading_any_count
from stallfree.loading.into_trainer import loading_exactly, reader_for
from stallfree.loading.resume import Read, choose
from stallfree.ranks import Ranks
from stallfree.saving.context import SaverContext
from stallfree.saving.overlapped import OverlappedSaver
from stallfree.saving.saver import MakeSaver
from stallfree.tiers.destination import Destination, OneTier, TwoTiers
from stallfree.tiers.tier import Tier
from stallfree.training.record import Record
from stallfree.training.save_policy import OnError, WhenBusy
from stallfree.training.session import Session

logger = logging.getLogger(__name__)


def _ignore(event: Event) -> None:
    pass


class Stallfree(TrainerCallback):
    """`Trainer(..., callbacks=[Stallfree()])`. Without arguments, the Trainer's settings say where and when to save.

    cadence: instead of the Trainer's own save_strategy. keep: instead of its save_total_limit.
    deadline_seconds: from SIGTERM until the process must be gone; by then the newest step that can be is saved.
    resume_from: folders of checkpoints to look into besides our own. always_resume: also if the script does not ask.
    fast: a tier in front of the folder of checkpoints; `cadence` and `keep` then say which go on to that one.
    resume_at_least: refuse to begin below this step.
    when_busy: a save that comes while the last is being written waits for it, or is left out ("skip").
    on_error: a save that fails ends training at its next step, or is reported and the next one tries again ("survive");
    the last one of a training must succeed.
    make_saver: PlainSaver makes training wait for each save, and takes no memory; the OverlappedSaver lets it go on,
    for one copy of the state in memory.
    exact_data: data with chance in it (masking, augmentation) is exact after a resume too: each batch has a random
    state of its own, and so other random numbers than the Trainer alone would give it.
    """

    def __init__(
        self,
        *,
        checkpoints: Path | None = None,
        staging: Path | None = None,
        cadence: Cadence | None = None,
        deadline_seconds: float | None = None,
        keep: int | None = None,
        fast: Tier | None = None,
        resume_from: Sequence[Path] = (),
        resume_at_least: int = 0,
        always_resume: bool = False,
        when_busy: WhenBusy = "wait",
        on_error: OnError = "raise",
        sink: Sink = _ignore,
        make_saver: MakeSaver = OverlappedSaver,
        exact_data: bool = False,
    ) -> None:
        if fast is not None and cadence is None:
            raise ValueError("With fast=, give cadence= too: it says which checkpoints go on from the fast tier.")
        self._checkpoints = checkpoints
        self._staging = staging
        self._cadence = cadence
        self._deadline_seconds = deadline_seconds
        self._keep = keep
        self._fast = fast
        self._resume_from = list(resume_from)
        self._resume_at_least = resume_at_least
        self._always_resume = always_resume
        self._when_busy = when_busy
        self._on_error = on_error
        self._sink = sink
        self._make_saver = make_saver
        self._exact_data = exact_data
        self._installed = False
        self._session: Session | None = None

    def applies_to(self, trial: Any) -> bool:
        """Not to a hyperparameter search: it trains many models, whose checkpoints are no sequence of steps."""
        return trial is None

    def on_init_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        check()
        trainer = trainer_calling(self)
        self._installed = True
        replace(trainer, "train", functools.partial(self._train, trainer, trainer.train))

    def _train(
        self,
        trainer: Trainer,
        trainers_own_train: Callable[..., Any],
        resume_from_checkpoint: str | PathLike[str] | bool | None = None,
        trial: Any = None,
        *args: Any,
        **named: Any,
    ) -> Any:
        if not self._leads(trainer) or not self.applies_to(trial):
            return trainers_own_train(resume_from_checkpoint, trial, *args, **named)
        ranks, store = Ranks(), self._store_for(trainer)
        ranks.from_first(store.open)
        destination = self._destination(trainer, store, ranks)
        read = reader_for(trainer, ranks)
        content = self._choose(resume_from_checkpoint, store, ranks, read)
        resumed = content.folder if content else None
        record = Record(destination.sink)
        saver = self._make_saver(
            SaverContext(trainer=trainer, store=destination.store, ranks=ranks, keep=destination.keep, sink=record)
        )
        self._session = Session(
            trainer=trainer,
            store=store,
            saver=saver,
            ranks=ranks,
            record=record,
            cadence=destination.cadence,
            resumed=resumed,
            when_busy=self._when_busy,
            on_error=self._on_error,
            deadline_seconds=self._deadline_seconds,
            exact_data=self._exact_data,
        )
        try:
            with (
                destination.moving(),
                self._session.attached(),
                loading_exactly(trainer, content, read, ranks),
                loading_any_count(trainer, store.staging, ranks),
            ):
                return trainers_own_train(str(resumed) if resumed else None, trial, *args, **named)
        finally:
            self._session = None

    def _leads(self, trainer: Trainer) -> bool:
        """Only the first of several is active: a platform may add one to a script that has its own."""
        ours = [callback for callback in trainer.callback_handler.callbacks if isinstance(callback, Stallfree)]
        if self in ours[1:]:
            logger.warning("This Trainer has another Stallfree before this one, which does nothing.")
        return self in ours[:1]

    def _store_for(self, trainer: Trainer) -> Store:
        checkpoints = self._checkpoints or Path(str(trainer.args.output_dir))
        return Store(checkpoints=checkpoints, staging=self._staging or checkpoints / ".staging")

    def _destination(self, trainer: Trainer, store: Store, ranks: Ranks) -> Destination:
        keep = self._keep if self._keep is not None else trainer.args.save_total_limit
        if self._fast is None or self._cadence is None:
            return OneTier(store, self._cadence, keep, self._publish)
        if ranks.count > 1:
            if ranks.is_first:
                logger.warning("Saves go past the fast tier, to %s: several processes train.", store.checkpoints)
            return OneTier(store, self._cadence, keep, self._publish)
        return TwoTiers(self._fast, store, trainer=trainer, cadence=self._cadence, keep=keep, sink=self._publish)

    def _publish(self, event: Event) -> None:
        if self._cadence:
            self._cadence.observe(event)
        if self._fast and not isinstance(event, Arrived):
            # It is about the tier behind this one.
            self._fast.cadence.observe(event)
        self._sink(event)

    def _choose(
        self, asked: str | PathLike[str] | bool | None, store: Store, ranks: Ranks, read: Read
    ) -> Content | None:
        return choose(
            asked,
            # Of equal steps, the one in the first folder is read.
            folders=[*([self._fast.folder] if self._fast else []), store.checkpoints, *self._resume_from],
            always=self._always_resume,
            at_least=self._resume_at_least,
            sink=self._sink if ranks.is_first else _ignore,
            ranks=ranks,
            read=read,
        )

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        if not self._installed:
            raise RuntimeError("Give this callback to the Trainer's `callbacks=`: added later, it cannot see a resume.")
        if self._session:
            self._session.begin(state, control)

    def on_epoch_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        if self._session:
            self._session.epoch_begins()

    def on_pre_optimizer_step(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        if self._session:
            self._session.before_update()

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        if self._session:
            self._session.step_done(state, control)

    def on_epoch_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        if self._session:
            self._session.epoch_done(control)

    def on_prediction_step(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        if self._session:
            self._session.batch_evaluated()

    def on_log(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **event: Any) -> None:
        if self._session and "train_runtime" in event["logs"]:
            self._session.all_trained()
