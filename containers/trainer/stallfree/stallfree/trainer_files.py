"""Where this library leans on the insides of `transformers.Trainer` (5.23)."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from transformers import Trainer, TrainerCallback, TrainerState
from transformers.trainer import TRAINER_STATE_NAME

from stallfree.checkpoint.store import Store, step_of


def trainer_calling(callback: TrainerCallback) -> Trainer:
    """The Trainer on whose behalf a callback's method runs: events carry the model, but not the Trainer."""
    frame = sys._getframe()
    while frame is not None:
        caller = frame.f_locals.get("self")
        if isinstance(caller, Trainer) and callback in caller.callback_handler.callbacks:
            return caller
        frame = frame.f_back  # type: ignore[assignment]
    raise RuntimeError("This callback was called by something other than a transformers.Trainer.")


def shadow(owner: Trainer | TrainerState, method: str, replacement: Callable[..., Any]) -> None:
    """Put something in a method's place, on this one instance. Taken away again by `unshadow`."""
    owner.__dict__[method] = replacement


def unshadow(owner: Trainer | TrainerState, *methods: str) -> None:
    for method in methods:
        owner.__dict__.pop(method, None)


@contextmanager
def shadowed(owner: Trainer, **replacements: Callable[..., Any]) -> Iterator[None]:
    """The same for as long as this lasts; then what was there comes back, another's replacement included."""
    before = {name: owner.__dict__[name] for name in replacements if name in owner.__dict__}
    owner.__dict__.update(replacements)
    try:
        yield
    finally:
        unshadow(owner, *replacements)
        owner.__dict__.update(before)


def write_checkpoint(trainer: Trainer, trainers_own_save: Callable[..., None], store: Store, *, into: Path) -> None:
    """Let the Trainer write what it always writes, into a folder that is not yet the checkpoint of the store."""
    shadow(trainer, "_get_output_dir", lambda trial: str(into))
    try:
        trainers_own_save(trainer.model_wrapped, None)
    finally:
        unshadow(trainer, "_get_output_dir")
    if trainer.state.best_global_step == trainer.state.global_step and trainer.state.best_model_checkpoint:
        # The Trainer noted where it wrote; from the commit on the best checkpoint stands elsewhere.
        trainer.state.best_model_checkpoint = str(store.path(trainer.state.global_step))
        if trainer.args.should_save:
            trainer.state.save_to_json(str(into / f"checkpoint-{trainer.state.global_step}" / TRAINER_STATE_NAME))


_UPLOADS = ("_log_model", "_log_artifacts", "_should_upload_checkpoint", "sync_checkpoints")
_NOT_AT_A_SAVE = (None, False, "false", "end")


def readers_of_checkpoints(trainer: Trainer) -> list[str]:
    """Callbacks that are told `on_save`, and by what the Trainer promises find the checkpoint there."""
    return [type(callback).__name__ for callback in trainer.callback_handler.callbacks if _may_read(callback)]


def _may_read(callback: Any) -> bool:
    if not getattr(callback, "reads_checkpoints", True):
        return False  # It says so itself.
    if getattr(callback.on_save, "__module__", "").startswith("transformers."):
        # Those for trackers upload a checkpoint if they are set to.
        return any(getattr(callback, setting, None) not in _NOT_AT_A_SAVE for setting in _UPLOADS)
    return True


def name_of_notes(process: int) -> str:
    """What this library itself adds to a checkpoint, to go on exactly."""
    return f"stallfree_{process}.json"


def find_best_again(trainer: Trainer, store: Store, resumed: Path | None) -> None:
    """After a resume, point to the best checkpoint where it stands now; its recorded path may be another machine's."""
    state = trainer.state
    # A step may have been better than all that were saved.
    best = step_of(Path(state.best_model_checkpoint)) if state.best_model_checkpoint else state.best_global_step
    if not best:
        return
    if store.path(best).is_dir():
        trainer.state.best_model_checkpoint = str(store.path(best))
    elif resumed is not None and resumed.name == f"checkpoint-{best}":
        trainer.state.best_model_checkpoint = str(resumed)


def skip_the_steps(trainer: Trainer) -> None:
    """The checkpoint already is the end of training; the Trainer alone would take one step too many."""
    shadow(trainer, "_run_epoch", lambda **_: None)
