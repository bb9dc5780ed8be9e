"""The best checkpoint so far, which the Trainer loads at the end of training."""

from pathlib import Path

from transformers import Trainer

from stallfree.checkpoint.store import Store, step_of


def best_of(trainer: Trainer) -> set[int]:
    """What rotation must leave alone: the best that was saved, and a better step that may just be being saved."""
    state = trainer.state
    if not state.best_model_checkpoint:
        return set()
    steps = (step_of(Path(state.best_model_checkpoint)), state.best_global_step)
    return {step for step in steps if step}


def point_to_best(trainer: Trainer, store: Store, resumed: Path | None) -> None:
    """After a resume, point to the best checkpoint where it stands now; its recorded path may be another machine's."""
    state = trainer.state
    # A step may have been better than all that were saved.
    best = step_of(Path(state.best_model_checkpoint)) if state.best_model_checkpoint else state.best_global_step
    if not best:
        return
    if store.path(best).is_dir():
        state.best_model_checkpoint = str(store.path(best))
    elif resumed is not None and resumed.name == f"checkpoint-{best}":
        state.best_model_checkpoint = str(resumed)
