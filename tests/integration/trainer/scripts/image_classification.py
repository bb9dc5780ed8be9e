"""Pictures to labels, made into tensors as they are loaded, as fine-tuning scripts are commonly written."""

import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from datasets import load_dataset
from transformers import (
    AutoConfig,
    AutoModelForImageClassification,
    HfArgumentParser,
    Trainer,
    TrainingArguments,
    set_seed,
)


@dataclass
class ModelArguments:
    model_name_or_path: str = field(metadata={"help": "a folder, or a name on the hub"})


@dataclass
class DataArguments:
    train_dir: str = field(metadata={"help": "a folder with a folder of pictures for each label"})
    validation_dir: str = field(metadata={"help": "the same, for evaluation"})


def collate(examples):
    return {
        "pixel_values": torch.stack([example["pixel_values"] for example in examples]),
        "labels": torch.tensor([example["label"] for example in examples]),
    }


def main():
    parser = HfArgumentParser((ModelArguments, DataArguments, TrainingArguments))
    if len(sys.argv) == 2 and sys.argv[1].endswith(".json"):
        model_args, data_args, training_args = parser.parse_json_file(sys.argv[1])
    else:
        model_args, data_args, training_args = parser.parse_args_into_dataclasses()
    set_seed(training_args.seed)

    files = {"train": str(Path(data_args.train_dir, "**")), "validation": str(Path(data_args.validation_dir, "**"))}
    pictures = load_dataset("imagefolder", data_files=files)
    labels = pictures["train"].features["label"].names
    config = AutoConfig.from_pretrained(
        model_args.model_name_or_path,
        num_labels=len(labels),
        label2id={label: number for number, label in enumerate(labels)},
        id2label=dict(enumerate(labels)),
    )
    model = AutoModelForImageClassification.from_pretrained(model_args.model_name_or_path, config=config)

    def pixels(picture):
        return torch.from_numpy(np.array(picture.convert("RGB"))).permute(2, 0, 1).float() / 127.5 - 1

    def prepare(batch):
        return {**batch, "pixel_values": [pixels(picture) for picture in batch["image"]]}

    for split in pictures.values():
        split.set_transform(prepare)

    def compute_metrics(prediction):
        found = np.argmax(prediction.predictions, axis=1)
        return {"accuracy": float((found == prediction.label_ids).mean())}

    trainer = Trainer(
        model=model,
        args=training_args,
        train_dataset=pictures["train"] if training_args.do_train else None,
        eval_dataset=pictures["validation"] if training_args.do_eval else None,
        compute_metrics=compute_metrics,
        data_collator=collate,
    )

    if training_args.do_train:
        result = trainer.train(resume_from_checkpoint=training_args.resume_from_checkpoint)
        trainer.save_model()
        trainer.log_metrics("train", result.metrics)
        trainer.save_metrics("train", result.metrics)
        trainer.save_state()
    if training_args.do_eval:
        metrics = trainer.evaluate()
        trainer.log_metrics("eval", metrics)
        trainer.save_metrics("eval", metrics)

    about = {"finetuned_from": model_args.model_name_or_path, "tasks": "image-classification"}
    if training_args.push_to_hub:
        trainer.push_to_hub(**about)
    else:
        trainer.create_model_card(**about)


if __name__ == "__main__":
    main()
