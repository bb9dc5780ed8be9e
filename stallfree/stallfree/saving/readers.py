"""Callbacks that may read a checkpoint in `on_save`: training waits for them."""

from typing import Any

from transformers import Trainer

_UPLOADS = ("_log_model", "_log_artifacts", "_should_upload_checkpoint", "sync_checkpoints")
_NOT_AT_A_SAVE = (None, False, "false", "end")


def readers_of_checkpoints(trainer: Trainer) -> list[str]:
    """Those whose `on_save` is called: the Trainer promises them that the checkpoint is there."""
    return [type(callback).__name__ for callback in trainer.callback_handler.callbacks if _may_read(callback)]


def _may_read(callback: Any) -> bool:
    if not getattr(callback, "reads_checkpoints", True):
        return False  # It says so itself.
    if getattr(callback.on_save, "__module__", "").startswith("transformers."):
        # Those for trackers upload a checkpoint if they are set to.
        return any(getattr(callback, setting, None) not in _NOT_AT_A_SAVE for setting in _UPLOADS)
    return True
