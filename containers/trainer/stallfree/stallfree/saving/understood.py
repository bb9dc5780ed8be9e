"""What can be laid out as file images, and the reason why anything else cannot."""

from collections.abc import Iterator
from typing import Any

import torch
from accelerate import DistributedType
from transformers import PreTrainedModel, Trainer

from stallfree.saving.image import CannotOverlap

# At most: its name, its headers, and what is skipped to align it.
_BYTES_ABOUT_A_TENSOR = 1024
_OUR_PART = ("_save_checkpoint", "save_model", "_save", "_save_optimizer_and_scheduler")


def bare_model(trainer: Trainer) -> Any:
    return trainer.accelerator.unwrap_model(trainer.model, keep_torch_compile=False)


def check(trainer: Trainer) -> None:
    """CannotOverlap if this training is of a kind that the Trainer's own save must write."""
    model = bare_model(trainer)
    optimizer = getattr(trainer.optimizer, "optimizer", trainer.optimizer)
    changed = [name for name in _OUR_PART if _is_changed(type(trainer), name)]
    reasons = {
        "each machine saves to a disk of its own": trainer.args.save_on_each_node and trainer.args.world_size > 1,
        "training is sharded by DeepSpeed": trainer.is_deepspeed_enabled,
        "training is sharded by FSDP, and not by FSDP2 with SHARDED_STATE_DICT": _is_sharded_in_an_unknown_way(trainer),
        "adapters are trained in shards": trainer.is_fsdp_enabled and hasattr(model, "peft_config"),
        "training runs on XLA": trainer.accelerator.distributed_type == DistributedType.XLA,
        "checkpoints are pushed to the hub, which reads their files": trainer.args.push_to_hub,
        "the model is not a PreTrainedModel, or has adapters": not isinstance(model, PreTrainedModel)
        or getattr(model, "_hf_peft_config_loaded", False),
        "the model is quantized": getattr(model, "hf_quantizer", None) is not None,
        "the model saves itself in its own way": getattr(type(model), "save_pretrained", None)
        is not PreTrainedModel.save_pretrained,
        f"{type(trainer).__name__} changes {', '.join(changed)}": bool(changed),
        "the optimizer changes the weights between its steps": callable(getattr(optimizer, "eval", None)),
    }
    for reason, applies in reasons.items():
        if applies:
            raise CannotOverlap(reason)


def _is_sharded_in_an_unknown_way(trainer: Trainer) -> bool:
    if not trainer.is_fsdp_enabled:
        return False
    plugin = trainer.accelerator.state.fsdp_plugin
    return plugin.fsdp_version != 2 or "SHARDED" not in str(plugin.state_dict_type)


def _is_changed(kind: type[Trainer], name: str) -> bool:
    method = getattr(kind, name)
    # Those of trl write a model card into output_dir first, and leave the checkpoint to the Trainer.
    only_adds = name == "_save_checkpoint" and method.__module__.startswith("trl.trainer.")
    return method is not getattr(Trainer, name) and not only_adds


def plain_bytes(state: Any) -> int:
    """The room that a state takes in a file, or CannotOverlap if its tensors are not plain memory of this host."""
    storages: dict[int, int] = {}
    for tensor in _tensors_in(state):
        if type(tensor) not in (torch.Tensor, torch.nn.Parameter) or tensor.layout is not torch.strided:
            raise CannotOverlap(f"a {type(tensor).__name__} is part of its state")
        if tensor.device.type != "cpu":
            raise CannotOverlap(f"its state is on {tensor.device}, and only the CPU's memory is overlapped so far")
        storage = tensor.untyped_storage()
        storages[storage._cdata] = storage.nbytes() + _BYTES_ABOUT_A_TENSOR
    return sum(storages.values())


def _tensors_in(state: Any) -> Iterator[torch.Tensor]:
    if isinstance(state, torch.Tensor):
        yield state
    elif isinstance(state, dict):
        for value in state.values():
            yield from _tensors_in(value)
    elif isinstance(state, list | tuple):
        for value in state:
            yield from _tensors_in(value)
