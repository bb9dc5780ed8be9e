"""What a recipe starts from, and what it hands to the Trainer."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from datasets import Dataset
from peft import PeftModel
from transformers import PreTrainedModel, Trainer, TrainingArguments


@dataclass(frozen=True)
class Splits:
    train: Dataset
    evaluation: Dataset | None

    def map_each(self, change: Callable[[Dataset], Dataset]) -> "Splits":
        return Splits(change(self.train), change(self.evaluation) if self.evaluation is not None else None)


@dataclass(frozen=True)
class Ingredients:
    model: str | dict[str, Any]
    data: Path
    splits: Splits
    arguments: TrainingArguments


@dataclass(frozen=True)
class Prepared:
    task: str
    """peft's name for it."""
    model: PreTrainedModel | PeftModel
    splits: Splits
    processing: Any
    """Tokenizer or image processor: saved with each checkpoint, so that a checkpoint is all one needs."""
    collator: Callable[[list[Any]], dict[str, Any]]
    metrics: Callable[[Any], dict[str, float]] | None = None
    trainer_class: type[Trainer] = Trainer
    head: str | None = None
    """The freshly made layer that is trained in full beside adapters."""

    def trainer(self, arguments: TrainingArguments) -> Trainer:
        return self.trainer_class(
            model=self.model,
            args=arguments,
            train_dataset=self.splits.train,
            eval_dataset=self.splits.evaluation,
            processing_class=self.processing,
            data_collator=self.collator,
            compute_metrics=self.metrics,
            preprocess_logits_for_metrics=most_likely if self.metrics else None,
        )


def most_likely(logits: Any, labels: Any) -> Any:
    """Keeps class numbers instead of all logits of all examples."""
    return (logits[0] if isinstance(logits, tuple) else logits).argmax(-1)


def accuracy(evaluated: Any) -> dict[str, float]:
    return {"accuracy": float((evaluated.predictions == evaluated.label_ids).mean())}
