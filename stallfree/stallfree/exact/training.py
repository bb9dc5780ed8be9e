"""Makes a resumed training equal to the uninterrupted one, and warns where it cannot be."""

import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from torch.utils.data import IterableDataset
from transformers import Trainer, TrainerState

from stallfree.exact import notes, stream_passes
from stallfree.exact.draw_detector import DrawDetector
from stallfree.exact.loader import training_data
from stallfree.exact.random_states import RandomStates
from stallfree.exact.running_loss import RunningLoss
from stallfree.exact.seeded_batches import BatchSeed

logger = logging.getLogger(__name__)


class ExactTraining:
    def __init__(self, trainer: Trainer, *, resumed: Path | None, exact_data: bool) -> None:
        self._trainer = trainer
        self._resumed = resumed
        self._batch_seed = BatchSeed(trainer.args) if exact_data else None
        self._detector = DrawDetector()
        self._loss = RunningLoss(trainer)
        self._epoch = 0
        self._is_first_fetch = False
        self._epoch_began: dict[str, Any] = {}
        self._epoch_to_replay: dict[str, Any] | None = None

    @contextmanager
    def attached(self) -> Iterator[None]:
        trainer = self._trainer
        with ExitStack() as stack:
            stack.enter_context(notes.taken(trainer, self._note))
            if self._batch_seed:
                stack.enter_context(training_data(trainer, self._batch_seed.apply_to))
            elif self._resumed:
                stack.enter_context(training_data(trainer, self._detector.apply_to))
            if self._resumed:
                stack.enter_context(stream_passes.found_again(trainer))
            yield

    def begin(self, state: TrainerState) -> None:
        self._epoch = int(state.epoch or 0) - 1
        if self._resumed is None:
            return
        args = self._trainer.args
        noted = notes.of_each_process(self._resumed)
        if noted:
            self._loss.take_up(noted, args.process_index, args.world_size)
        has_workers = args.dataloader_num_workers > 0
        # Their random states are older than the epoch.
        self._detector.looks = has_workers and args.dataloader_persistent_workers
        if (state.epoch or 0) % 1 == 0:
            return
        if args.ignore_data_skip:
            self._warn("ignore_data_skip lets it begin its epoch anew")
        elif len(noted) == args.world_size:
            self._epoch_to_replay = noted[args.process_index]["epoch_began"]
        # Workers that are seeded as they were, and go through all of the stream again, come to the same place in it.
        replays_all = has_workers and self._is_stream and self._epoch_to_replay is not None
        self._detector.looks = self._detector.looks or not replays_all

    def epoch_begins(self) -> None:
        self._epoch += 1
        self._is_first_fetch = True
        if self._batch_seed:
            self._batch_seed.begin_epoch(self._epoch)

    def fetching(self) -> None:
        """The sampler and the seeds of workers are drawn when the first batch of an epoch is fetched."""
        if not self._is_first_fetch:
            return
        self._is_first_fetch = False
        if self._epoch_to_replay:
            # What training itself goes on with is restored by the Trainer after this fetch.
            RandomStates.from_noted(self._epoch_to_replay).put_back()
            self._epoch_began, self._epoch_to_replay = self._epoch_to_replay, None
        else:
            self._epoch_began = RandomStates().noted()

    def summed_up(self) -> None:
        self._loss.summed_up()

    def step_done(self) -> None:
        # From here on training itself draws in this process; workers go on looking, and may report later.
        self._detector.looks = False
        if self._detector.has_seen_data_draw:
            self._detector.forget()
            kind = "stream of data" if self._is_stream else "dataset or collator"
            self._warn(
                f"its {kind} draws from the global random state, which the Trainer restores too late for it. "
                "Stallfree(exact_data=True) gives each batch a random state of its own"
            )

    @property
    def _is_stream(self) -> bool:
        return isinstance(self._trainer.train_dataset, IterableDataset)

    def _note(self) -> notes.Note:
        return {**self._loss.note(), "epoch_began": self._epoch_began}

    def _warn(self, why: str) -> None:
        logger.warning("This resumed training is not exactly the uninterrupted one: %s.", why)
