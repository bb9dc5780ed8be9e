"""Where training stood in a stream that ended and was begun anew.

Without a length, the Trainer takes all its steps for one epoch, and after a resume looks for its place in the first
pass. If that has ended before, it finds nothing there and silently goes on with the begin of the second.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from transformers import Trainer, TrainerState
from transformers.trainer import TRAINER_STATE_NAME

from stallfree.internals.replacing import replaced


@contextmanager
def found_again(trainer: Trainer) -> Iterator[None]:
    """While this lasts, the Trainer resumes in the pass in which the checkpoint was saved."""
    own = trainer._init_training_state

    def init(
        max_steps: int, steps_per_epoch: int, epochs: int, resume_from_checkpoint: str | None, trial: Any
    ) -> tuple[int, int]:
        place = own(max_steps, steps_per_epoch, epochs, resume_from_checkpoint, trial)
        has_no_length = epochs == sys.maxsize
        if resume_from_checkpoint is None or not has_no_length or trainer.args.ignore_data_skip:
            return place
        return _place_in(Path(resume_from_checkpoint), trainer.args.gradient_accumulation_steps)

    with replaced(trainer, _init_training_state=init):
        yield


def _place_in(checkpoint: Path, batches_per_step: int) -> tuple[int, int]:
    """The passes that had ended, and the batches of the one that had not."""
    state = TrainerState.load_from_json(str(checkpoint / TRAINER_STATE_NAME))
    # The Trainer counts a batch as this part of an epoch, and a new pass as the next whole one.
    batches_per_epoch = state.max_steps * batches_per_step
    passes = int(state.epoch or 0)
    return passes, round(((state.epoch or 0) - passes) * batches_per_epoch)
