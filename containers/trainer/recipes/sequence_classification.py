"""Classifying texts, or pairs of texts."""

from typing import Any

from transformers import AutoModelForSequenceClassification, DataCollatorWithPadding

from containers.trainer.recipes.data import require_columns
from containers.trainer.recipes.ingredients import Ingredients, Prepared, Splits, accuracy
from containers.trainer.recipes.models import label_names, make_model, make_tokenizer


def prepare(ingredients: Ingredients) -> Prepared:
    require_columns(ingredients.splits, "text", "label")
    tokenizer = make_tokenizer(ingredients)
    classes = classes_in(ingredients.splits)
    fits_tokenizer = {"pad_token_id": tokenizer.pad_token_id}
    if isinstance(ingredients.model, dict):
        fits_tokenizer["vocab_size"] = len(tokenizer)
    model = make_model(AutoModelForSequenceClassification, ingredients, **fits_tokenizer, **label_names(classes))
    number_of = {value: number for number, value in enumerate(classes)}
    longest = min(getattr(model.config, "max_position_embeddings", None) or 512, tokenizer.model_max_length)

    def encode(batch: dict[str, list[Any]]) -> dict[str, Any]:
        pairs = [batch["text_pair"]] if "text_pair" in batch else []
        tokens = tokenizer(batch["text"], *pairs, truncation=True, max_length=longest)
        return {**tokens, "labels": [number_of[value] for value in batch["label"]]}

    def encoded(split: Any) -> Any:
        return split.map(encode, batched=True, remove_columns=split.column_names, desc="tokens")

    return Prepared(
        task="SEQ_CLS",
        model=model,
        splits=ingredients.splits.map_each(encoded),
        processing=tokenizer,
        collator=DataCollatorWithPadding(tokenizer),
        metrics=accuracy,
    )


def classes_in(splits: Splits) -> list[Any]:
    """All labels that occur, in order; evaluation may hold one that training lacks."""
    labels = set(splits.train.unique("label"))
    if splits.evaluation is not None:
        labels |= set(splits.evaluation.unique("label"))
    return sorted(labels)
