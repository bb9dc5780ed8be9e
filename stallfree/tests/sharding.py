"""FSDP2 without an accelerator: gloo can do it, and accelerate refuses it by quietly training copies instead."""

import warnings
from pathlib import Path
from typing import Any

import torch
from accelerate import state
from torch.distributed.checkpoint.state_dict_loader import _load_state_dict_from_keys

SHARDED: dict[str, Any] = {
    "fsdp": True,
    "fsdp_config": {
        "version": 2,
        "auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
        "transformer_layer_cls_to_wrap": ["GPT2Block"],
        "state_dict_type": "SHARDED_STATE_DICT",
    },
}

_NOT_OF_THE_PARTIAL_STATE = {
    "deepspeed_plugin",
    "fsdp_plugin",
    "megatron_lm_plugin",
    "parallelism_config",
    "torch_tp_plugin",
    "dynamo_plugin",
    "_from_accelerator",
}


def allow_on_the_cpu() -> None:
    """In this process, which ends with the test: several processes on CPUs count as several of an accelerator."""
    begin = state.AcceleratorState.__init__

    def begin_as_if(self: Any, mixed_precision: Any = None, cpu: bool = False, *args: Any, **named: Any) -> None:
        partial = {name: value for name, value in named.items() if name not in _NOT_OF_THE_PARTIAL_STATE}
        if state.PartialState(cpu, **partial).distributed_type == state.DistributedType.MULTI_CPU:
            state.PartialState._shared_state["distributed_type"] = state.DistributedType.MULTI_XPU
        begin(self, mixed_precision, cpu, *args, **named)

    state.AcceleratorState.__init__ = begin_as_if


def whole(folder: Path) -> dict[str, Any]:
    """Everything in a folder of torch.distributed.checkpoint, by name, put together from its shards."""
    flat: dict[str, Any] = {}

    def flatten(value: Any, name: str) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                flatten(inner, f"{name}.{key}" if name else str(key))
        elif isinstance(value, list):
            for number, inner in enumerate(value):
                flatten(inner, f"{name}.{number}")
        else:
            flat[name] = value

    # It warns where one process reads alone.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        flatten(_load_state_dict_from_keys(checkpoint_id=folder), "")
    return flat


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one.keys() == other.keys() and all(
        torch.equal(one[name], other[name]) if isinstance(one[name], torch.Tensor) else one[name] == other[name]
        for name in one
    )
