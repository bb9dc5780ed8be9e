"""Small trained matrices beside frozen weights. A checkpoint then holds the adapters, as peft writes them."""

from dataclasses import replace

from peft import LoraConfig, TaskType, get_peft_model
from transformers import TrainingArguments

from belay.contract.job import Lora
from containers.trainer.recipes.ingredients import Prepared


def with_adapters(prepared: Prepared, lora: Lora, arguments: TrainingArguments) -> Prepared:
    if arguments.activation_checkpointing:
        # Frozen embeddings would cut the recomputed graph off from everything trainable.
        prepared.model.enable_input_require_grads()
    config = LoraConfig(
        r=lora.r,
        lora_alpha=lora.alpha,
        lora_dropout=lora.dropout,
        target_modules=lora.target_modules,
        task_type=TaskType(prepared.task) if prepared.task in TaskType.__members__ else None,
        modules_to_save=[prepared.head] if prepared.head else None,
        exclude_modules=[prepared.head] if prepared.head else None,
    )
    return replace(prepared, model=get_peft_model(prepared.model, config))
