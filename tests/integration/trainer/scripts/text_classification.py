"""Sentences to labels, as fine-tuning scripts are commonly written: it knows nothing of where it runs."""

import sys
from dataclasses import dataclass, field

import numpy as np
from datasets import load_dataset
from transformers import (
    AutoConfig,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    DataCollatorWithPadding,
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
    train_file: str = field(metadata={"help": "CSV with the columns sentence and label"})
    validation_file: str = field(metadata={"help": "the same, for evaluation"})
    max_seq_length: int = field(default=32)


def main():
    parser = HfArgumentParser((ModelArguments, DataArguments, TrainingArguments))
    if len(sys.argv) == 2 and sys.argv[1].endswith(".json"):
        model_args, data_args, training_args = parser.parse_json_file(sys.argv[1])
    else:
        model_args, data_args, training_args = parser.parse_args_into_dataclasses()
    set_seed(training_args.seed)

    files = {"train": data_args.train_file, "validation": data_args.validation_file}
    raw = load_dataset("csv", data_files=files)
    labels = sorted(raw["train"].unique("label"))
    config = AutoConfig.from_pretrained(
        model_args.model_name_or_path,
        num_labels=len(labels),
        label2id={label: number for number, label in enumerate(labels)},
        id2label=dict(enumerate(labels)),
        problem_type="single_label_classification",
    )
    tokenizer = AutoTokenizer.from_pretrained(model_args.model_name_or_path)
    model = AutoModelForSequenceClassification.from_pretrained(model_args.model_name_or_path, config=config)

    def preprocess(examples):
        result = tokenizer(examples["sentence"], max_length=data_args.max_seq_length, truncation=True)
        return {**result, "labels": [config.label2id[label] for label in examples["label"]]}

    with training_args.main_process_first(desc="tokenizing"):
        raw = raw.map(preprocess, batched=True, remove_columns=raw["train"].column_names)

    def compute_metrics(prediction):
        found = np.argmax(prediction.predictions, axis=1)
        return {"accuracy": float((found == prediction.label_ids).mean())}

    trainer = Trainer(
        model=model,
        args=training_args,
        train_dataset=raw["train"] if training_args.do_train else None,
        eval_dataset=raw["validation"] if training_args.do_eval else None,
        compute_metrics=compute_metrics,
        processing_class=tokenizer,
        data_collator=DataCollatorWithPadding(tokenizer, pad_to_multiple_of=8),
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

    about = {"finetuned_from": model_args.model_name_or_path, "tasks": "text-classification"}
    if training_args.push_to_hub:
        trainer.push_to_hub(**about)
    else:
        trainer.create_model_card(**about)


if __name__ == "__main__":
    main()
