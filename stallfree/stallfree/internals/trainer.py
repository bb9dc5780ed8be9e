"""What is done with the private parts of `transformers.Trainer`."""

import sys
from collections.abc import Callable
from pathlib import Path

from transformers import Trainer, TrainerCallback
from transformers.trainer import TRAINER_STATE_NAME

from stallfree.checkpoint.store import Store
from stallfree.internals.replacing import replace, replaced


def trainer_calling(callback: TrainerCallback) -> Trainer:
    """The Trainer on whose behalf a callback's method runs: events carry the model, but not the Trainer."""
    frame = sys._getframe()
    while frame is not None:
        caller = frame.f_locals.get("self")
        if isinstance(caller, Trainer) and callback in caller.callback_handler.callbacks:
            return caller
        frame = frame.f_back  # type: ignore[assignment]
    raise RuntimeError("This callback was called by something other than a transformers.Trainer.")


def write_checkpoint(trainer: Trainer, trainers_own_save: Callable[..., None], store: Store, *, into: Path) -> None:
    """Let the Trainer write what it always writes, into a folder that is not yet the checkpoint of the store."""
    with replaced(trainer, _get_output_dir=lambda trial: str(into)):
        trainers_own_save(trainer.model_wrapped, None)
    if trainer.state.best_global_step == trainer.state.global_step and trainer.state.best_model_checkpoint:
        # The Trainer noted where it wrote; from the commit on the best checkpoint stands elsewhere.
        trainer.state.best_model_checkpoint = str(store.path(trainer.state.global_step))
        if trainer.args.should_save:
            trainer.state.save_to_json(str(into / f"checkpoint-{trainer.state.global_step}" / TRAINER_STATE_NAME))


def skip_all_steps(trainer: Trainer) -> None:
    """The checkpoint already is the end of training; the Trainer alone would take one step too many."""
    replace(trainer, "_run_epoch", lambda **_: None)
