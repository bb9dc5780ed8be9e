"""Checkpoints of a Hugging Face Trainer that are whole or not there, and that training does not wait for.

`Trainer(..., callbacks=[Stallfree()])` is all it takes. What `__all__` names is public; the rooms beside it are not.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stallfree.cadence import Cadence, EverySeconds, EverySteps, FirstOf
    from stallfree.cadence.max_loss import MaxLoss
    from stallfree.callback import Stallfree
    from stallfree.checkpoint.manifest import NotWhole, verify
    from stallfree.checkpoint.search import newest_whole
    from stallfree.saving.overlapped import OverlappedSaver
    from stallfree.saving.saver import PlainSaver, SaveFailed
    from stallfree.tiers.tier import Tier

__version__ = "0.1.0"

__all__ = [
    "Cadence",
    "EverySeconds",
    "EverySteps",
    "FirstOf",
    "MaxLoss",
    "NotWhole",
    "OverlappedSaver",
    "PlainSaver",
    "SaveFailed",
    "Stallfree",
    "Tier",
    "newest_whole",
    "verify",
]

_MODULE_OF = {
    "Cadence": "cadence",
    "EverySeconds": "cadence",
    "EverySteps": "cadence",
    "FirstOf": "cadence",
    "MaxLoss": "cadence.max_loss",
    "NotWhole": "checkpoint.manifest",
    "OverlappedSaver": "saving.overlapped",
    "PlainSaver": "saving.saver",
    "SaveFailed": "saving.saver",
    "Stallfree": "callback",
    "Tier": "tiers.tier",
    "newest_whole": "checkpoint.search",
    "verify": "checkpoint.manifest",
}


def __getattr__(name: str) -> Any:
    """Where checkpoints are only read, neither PyTorch nor transformers is imported."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
