"""How long a first save may take: a small write, scaled to the size of the state."""

import logging
import os
import time
from pathlib import Path

from transformers import Trainer

from stallfree.checkpoint.durable import flush

logger = logging.getLogger(__name__)

_SAMPLE_BYTES = 8 * 1024 * 1024
_MOMENTS_PER_WEIGHT = 2
# Beside the disk, the Trainer's own way of saving packs each tensor, and copies it more than once.
_CAUTION = 4


def seconds_of_a_first_save(trainer: Trainer, folder: Path) -> float | None:
    """A conservative guess; None if the folder cannot be written to."""
    sample = folder / f"sample-{os.getpid()}"
    began = time.monotonic()
    try:
        sample.write_bytes(os.urandom(_SAMPLE_BYTES))
        flush(sample)
        seconds = time.monotonic() - began
    except OSError as error:
        logger.warning("How fast checkpoints can be written is not known: %s", error)
        return None
    finally:
        sample.unlink(missing_ok=True)
    return _CAUTION * seconds * max(1.0, _bytes_of(trainer) / _SAMPLE_BYTES)


def _bytes_of(trainer: Trainer) -> int:
    assert trainer.model is not None, "training has begun"
    weights: int = sum(tensor.nbytes for tensor in trainer.model.state_dict().values())
    if trainer.args.save_only_model:
        return weights
    trained: int = sum(weight.nbytes for weight in trainer.model.parameters() if weight.requires_grad)
    return weights + _MOMENTS_PER_WEIGHT * trained
