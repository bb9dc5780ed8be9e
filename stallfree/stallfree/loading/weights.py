"""Loading the weights that were saved: all of them, or an error that names those that are not there.

transformers 5 saves many models under the names of their original releases and gives them other names in memory
(a ViT's `attention.query` is `q_proj` there). `from_pretrained` translates; the Trainer's own resume does not. It
matches by name, skips what it does not find with a line in the log, and trains on from random weights.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from transformers import PreTrainedModel, Trainer

_WEIGHTS = "*.safetensors"


class WeightsDoNotFit(ValueError):
    """A checkpoint's weights and the model's are not the same set; training on would lose what was learned."""


def load(
    trainer: Trainer,
    checkpoint: Path,
    read: Mapping[str, torch.Tensor] | None,
    trainers_own_load: Callable[[], None],
) -> None:
    """Into the live model: from what was read, or from the disk where that is not enough."""
    model = trainer.accelerator.unwrap_model(trainer.model, keep_torch_compile=False)
    sharded = trainer.is_fsdp_enabled or trainer.is_deepspeed_enabled
    if isinstance(model, PreTrainedModel) and not sharded and _others(model, read or _names_in(checkpoint)):
        _translate(model, checkpoint)
    elif read is None:
        trainers_own_load()
    else:
        refuse_a_misfit(trainer, model.load_state_dict(read, strict=False))


def _others(model: PreTrainedModel, names: Iterable[str]) -> bool:
    return not set(names) <= set(model.state_dict())


def _names_in(checkpoint: Path) -> set[str]:
    saved: set[str] = set()
    for file in checkpoint.glob(_WEIGHTS):
        with safe_open(file, framework="pt") as weights:
            saved.update(weights.keys())
    return saved


def _translate(model: PreTrainedModel, checkpoint: Path) -> None:
    # In float32 no narrower type loses a bit on its way into the live model.
    loaded: Any = type(model).from_pretrained(checkpoint, dtype=torch.float32, output_loading_info=True)
    read, info = loaded
    faults = {name: info[name] for name in ("missing_keys", "unexpected_keys", "mismatched_keys") if info[name]}
    if faults:
        raise WeightsDoNotFit(f"{checkpoint} does not hold this model's weights: {faults}.")
    model.load_state_dict(read.state_dict(), strict=True)


def refuse_a_misfit(trainer: Trainer, result: Any) -> None:
    model: Any = trainer.model
    if hasattr(model, "peft_config"):
        return  # An adapter's checkpoint holds the adapter alone: all else is missing from it by design.
    weights = model.state_dict()
    missing = set(result.missing_keys)
    # A tied weight is saved once, under one of its names, and is loaded with it.
    loaded = {weights[name].data_ptr() for name in weights.keys() - missing}
    lost = sorted(name for name in missing if weights[name].data_ptr() not in loaded)
    if lost or result.unexpected_keys:
        raise WeightsDoNotFit(
            f"The checkpoint does not hold this model's weights: not in it {lost}; only in it {result.unexpected_keys}."
        )
