"""A Trainer's own steps of loading, on this one instance: from memory where the checkpoint already is, and exactly."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import torch
from accelerate import DistributedType
from transformers import Trainer
from transformers.trainer import SCHEDULER_NAME
from transformers.trainer_pt_utils import reissue_pt_warnings
from transformers.utils.import_utils import is_sagemaker_mp_enabled

from stallfree.checkpoint import manifest
from stallfree.internals.replacing import replaced
from stallfree.loading import weights
from stallfree.loading.content import Content, read
from stallfree.loading.resume import Read, together
from stallfree.ranks import Ranks

logger = logging.getLogger(__name__)

_OUR_PART = ("_load_from_checkpoint", "_load_optimizer_and_scheduler")


class BestIsDamaged(ValueError):
    """The best model was to be loaded at the end, and it is no longer what was saved."""


def reader_for(trainer: Trainer, ranks: Ranks) -> Read:
    """How this training reads a checkpoint: to keep it in memory, or only to know that it is whole."""
    if reason := _why_the_trainer_reads_it_again(trainer):
        if ranks.is_first:
            logger.info("Checkpoints are verified, then loaded by the Trainer itself: %s.", reason)
        return lambda folder: read(folder, weights=False, optimizer=False) if ranks.is_first else Content(folder)
    # Several processes read the same files: the disk gives them once, the cache all other times.
    return partial(read, past_the_cache=ranks.count == 1)


def _why_the_trainer_reads_it_again(trainer: Trainer) -> str | None:
    changed = [name for name in _OUR_PART if getattr(type(trainer), name) is not getattr(Trainer, name)]
    reasons = {
        "training is sharded": trainer.is_fsdp_enabled or trainer.is_deepspeed_enabled or is_sagemaker_mp_enabled(),
        "training runs on XLA": trainer.accelerator.distributed_type == DistributedType.XLA,
        f"{type(trainer).__name__} changes {', '.join(changed)}": bool(changed),
    }
    return next((reason for reason, applies in reasons.items() if applies), None)


@contextmanager
def loading_exactly(trainer: Trainer, content: Content | None, reader: Read, ranks: Ranks) -> Iterator[None]:
    """While training runs, this Trainer loads what was read, all of it, or says what does not fit."""
    own_load, own_best = trainer._load_from_checkpoint, trainer._load_best_model
    own_optimizer = trainer._load_optimizer_and_scheduler
    verified_read = together(reader, ranks)

    def load(resume_from_checkpoint: str, model: Any = None) -> None:
        folder = Path(resume_from_checkpoint)
        taken = content.take_weights() if content and content.folder == folder else None
        weights.load(trainer, folder, taken, lambda: own_load(resume_from_checkpoint, model))

    def load_best() -> None:
        folder = Path(str(trainer.state.best_model_checkpoint))
        weights.load(trainer, folder, _best(folder, verified_read, ranks), own_best)

    def load_optimizer(checkpoint: str | None) -> None:
        state = content.take_optimizer() if content and checkpoint and content.folder == Path(checkpoint) else None
        scheduler = Path(str(checkpoint), SCHEDULER_NAME)
        if state is None or not scheduler.is_file():
            own_optimizer(checkpoint)
        else:
            _load_optimizer(trainer, state, scheduler)

    with replaced(
        trainer,
        _load_from_checkpoint=load,
        _load_best_model=load_best,
        _load_optimizer_and_scheduler=load_optimizer,
        _issue_warnings_after_load=partial(weights.refuse_a_misfit, trainer),
    ):
        yield


def _best(folder: Path, reader: Read, ranks: Ranks) -> dict[str, torch.Tensor] | None:
    if not ranks.from_first((folder / manifest.NAME).exists):
        return None
    try:
        return reader(folder).take_weights()
    except manifest.NotWhole as fault:
        raise BestIsDamaged(
            f"{folder} was the best, but {fault}. The model has its last weights, not its best."
        ) from fault


def _load_optimizer(trainer: Trainer, state: Any, scheduler: Path) -> None:
    optimizer: Any = trainer.optimizer
    optimizer.load_state_dict(state)
    with warnings.catch_warnings(record=True) as caught:
        trainer.lr_scheduler.load_state_dict(torch.load(scheduler, weights_only=True))  # type: ignore[union-attr]
    reissue_pt_warnings(caught)  # type: ignore[no-untyped-call]
