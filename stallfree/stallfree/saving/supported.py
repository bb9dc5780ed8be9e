"""Which trainings can be overlapped, and the reason why another cannot."""

from collections.abc import Iterator
from typing import Any

import torch
from accelerate import DistributedType
from transformers import PreTrainedModel, Trainer
from transformers.utils.import_utils import is_peft_available

from stallfree.internals.pytorch import identity_of, is_made_of_parts, parts_of
from stallfree.saving.images.layout import CannotOverlap

# At most: its name, its headers, and what is skipped to align it.
_BYTES_ABOUT_A_TENSOR = 1024
_OUR_PART = ("_save_checkpoint", "save_model", "_save", "_save_optimizer_and_scheduler")


def bare_model(trainer: Trainer) -> Any:
    model: Any = trainer.model
    if isinstance(model, PreTrainedModel) and "_orig_mod" not in model.__dict__:
        return model  # Not wrapped: quick, since every save asks.
    return trainer.accelerator.unwrap_model(model, keep_torch_compile=False)


def check(trainer: Trainer) -> None:
    """CannotOverlap if this training is of a kind that the Trainer's own save must write."""
    model = bare_model(trainer)
    changed = [name for name in _OUR_PART if _is_changed(trainer, name)]
    # Adapters are saved without the base that they adapt, so it may be quantized.
    is_base = isinstance(model, PreTrainedModel) and not getattr(model, "_hf_peft_config_loaded", False)
    reasons = {
        "each machine saves to a disk of its own": trainer.args.save_on_each_node and trainer.args.world_size > 1,
        **_of_deepspeed(trainer),
        "training is sharded by FSDP, and not by FSDP2 with SHARDED_STATE_DICT": _is_sharded_in_an_unknown_way(trainer),
        "adapters are trained in shards": trainer.is_fsdp_enabled and hasattr(model, "peft_config"),
        "training runs on XLA": trainer.accelerator.distributed_type == DistributedType.XLA,
        "checkpoints are pushed to the hub, which reads their files": trainer.args.push_to_hub,
        "the model is quantized": is_base and getattr(model, "hf_quantizer", None) is not None,
        "the model saves itself in its own way": _saves_itself_in_its_own_way(model),
        f"{type(trainer).__name__} changes {', '.join(changed)}": bool(changed),
    }
    for reason, applies in reasons.items():
        if applies:
            raise CannotOverlap(reason)


def _of_deepspeed(trainer: Trainer) -> dict[str, bool]:
    """What of DeepSpeed's settings lets it write in other ways than by `torch.save`."""
    if not trainer.is_deepspeed_enabled:
        return {}
    engine: Any = trainer.deepspeed
    writer = type(engine.checkpoint_engine).__name__
    settings = engine.config.get("checkpoint", {})
    zero = engine.config.get("zero_optimization", {})
    offloads = [zero.get(name) or {} for name in ("offload_optimizer", "offload_param")]
    return {
        f"DeepSpeed writes with its {writer}": writer != "TorchCheckpointEngine",
        "DeepSpeed writes in PyTorch's old format": not settings.get("checkpoint_serialization", True),
        "DeepSpeed saves to a disk of each machine": settings.get("use_node_local_storage", False),
        "DeepSpeed keeps its state in files": "nvme" in [offloaded.get("device") for offloaded in offloads],
    }


def _is_sharded_in_an_unknown_way(trainer: Trainer) -> bool:
    if not trainer.is_fsdp_enabled:
        return False
    plugin = trainer.accelerator.state.fsdp_plugin
    return plugin.fsdp_version != 2 or "SHARDED" not in str(plugin.state_dict_type)


def _is_changed(trainer: Trainer, name: str) -> bool:
    method = getattr(type(trainer), name)
    # trl's write a model card into output_dir first, and leave the checkpoint to the Trainer.
    only_adds = name == "_save_checkpoint" and method.__module__.startswith("trl.trainer.")
    # `_save_checkpoint` is replaced on this instance, by us.
    on_the_instance = name != "_save_checkpoint" and name in vars(trainer)
    return on_the_instance or (method is not getattr(Trainer, name) and not only_adds)


def changes_between_steps(trainer: Trainer) -> bool:
    """A schedule-free optimizer has other weights for evaluation: they can change outside of its steps."""
    return callable(getattr(getattr(trainer.optimizer, "optimizer", trainer.optimizer), "eval", None))


def devices_of(trainer: Trainer) -> set[torch.device]:
    return {parameter.device for parameter in bare_model(trainer).parameters()}


def bytes_of(state: Any) -> int:
    """About the room that a state takes in a file: exact where it grows, and never less for plain tensors."""
    storages: dict[int, int] = {}
    for tensor in _tensors_in(state):
        storage = tensor.untyped_storage()
        storages[identity_of(storage)] = storage.nbytes() + _BYTES_ABOUT_A_TENSOR
    return sum(storages.values())


def _saves_itself_in_its_own_way(model: Any) -> bool:
    known: list[Any] = [PreTrainedModel]
    if is_peft_available():
        from peft import PeftModel

        known.append(PeftModel)
    # Of any other model the Trainer saves the state_dict. Of these, an instance may have another method.
    own = getattr(getattr(model, "save_pretrained", None), "__func__", None)
    return isinstance(model, tuple(known)) and all(own is not kind.save_pretrained for kind in known)


def _tensors_in(state: Any) -> Iterator[torch.Tensor]:
    waiting = [state]
    while waiting:
        value = waiting.pop()
        if isinstance(value, torch.Tensor):
            if type(value) is not torch.Tensor and is_made_of_parts(value):
                # It has no memory of its own: its parts have.
                waiting.extend(parts_of(value))
            elif value.layout is torch.strided:
                yield value
        elif isinstance(value, dict):
            waiting.extend(value.values())
        elif isinstance(value, list | tuple):
            waiting.extend(value)
