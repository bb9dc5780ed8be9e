"""Language modelling: texts, one after the other, cut into blocks of what the model can see at once."""

import math
from itertools import chain
from typing import Any

from datasets import Dataset
from transformers import AutoModelForCausalLM, Trainer, default_data_collator

from containers.trainer.recipes.data import require_columns
from containers.trainer.recipes.ingredients import Ingredients, Prepared
from containers.trainer.recipes.models import make_model, make_tokenizer

_LONGEST_BLOCK = 1024


class PerplexityTrainer(Trainer):
    def evaluation_loop(self, *args: Any, **named: Any) -> Any:
        output: Any = super().evaluation_loop(*args, **named)
        name = f"{named.get('metric_key_prefix', 'eval')}_"
        if name + "loss" in output.metrics:
            output.metrics[name + "perplexity"] = _perplexity(output.metrics[name + "loss"])
        return output


def _perplexity(loss: float) -> float:
    try:
        return math.exp(loss)
    except OverflowError:
        return math.inf


def prepare(ingredients: Ingredients) -> Prepared:
    require_columns(ingredients.splits, "text")
    tokenizer = make_tokenizer(ingredients)
    special = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    from_scratch = isinstance(ingredients.model, dict)
    model = make_model(
        AutoModelForCausalLM, ingredients, **({"vocab_size": len(tokenizer), **special} if from_scratch else {})
    )
    if len(tokenizer) > model.get_input_embeddings().num_embeddings:
        model.resize_token_embeddings(len(tokenizer))
    seen_at_once = getattr(model.config, "max_position_embeddings", None) or _LONGEST_BLOCK
    length = min(seen_at_once, tokenizer.model_max_length, _LONGEST_BLOCK)
    return Prepared(
        task="CAUSAL_LM",
        model=model,
        splits=ingredients.splits.map_each(lambda split: _blocks(split, tokenizer, length)),
        processing=tokenizer,
        collator=default_data_collator,
        trainer_class=PerplexityTrainer,
    )


def _blocks(split: Dataset, tokenizer: Any, length: int) -> Dataset:
    end = [tokenizer.eos_token_id] if tokenizer.eos_token_id is not None else []

    def cut(batch: dict[str, list[Any]]) -> dict[str, list[list[int]]]:
        texts = tokenizer(batch["text"], add_special_tokens=False, return_attention_mask=False)["input_ids"]
        tokens = list(chain.from_iterable(text + end for text in texts))
        # What is left over at the end of a batch of texts is shorter than a block, and goes.
        blocks = [tokens[at : at + length] for at in range(0, len(tokens) - length + 1, length)]
        return {"input_ids": blocks, "labels": [list(block) for block in blocks]}

    return split.map(cut, batched=True, remove_columns=split.column_names, desc="tokens")
