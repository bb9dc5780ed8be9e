"""Checkpoints of a Hugging Face Trainer that are whole or not there, and that training does not wait for.

`Trainer(..., callbacks=[Stallfree()])` is all it takes; see stallfree.callback.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stallfree.callback import Stallfree as Stallfree

_HOME = {"Stallfree": "stallfree.callback"}


def __getattr__(name: str) -> Any:
    """Where checkpoints are only read, neither PyTorch nor transformers is imported."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
