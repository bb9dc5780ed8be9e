"""The built-in recipes: every format of data, every task, adapters, and what is refused before it costs anything."""

import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset as Table
from datasets import config as datasets_config
from peft import PeftModel
from PIL import Image
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    AutoConfig,
    AutoModelForImageClassification,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    GPT2LMHeadModel,
    PreTrainedTokenizerFast,
    Trainer,
)

from belay.contract.faults import parse_job
from belay.contract.job import Dataset, Job
from containers.trainer.recipes import __main__ as recipes
from containers.trainer.recipes.arguments import ArgumentsRefused, training_arguments
from containers.trainer.recipes.data import DataUnusable, load_splits
from containers.trainer.recipes.models import ModelUnusable

GPT2 = {"model_type": "gpt2", "n_positions": 8, "n_embd": 16, "n_layer": 1, "n_head": 2}
BERT = {
    "model_type": "bert",
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 16,
}
VIT = {
    "model_type": "vit",
    "image_size": 8,
    "patch_size": 4,
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 16,
}
WORDS = ["save", "load", "train", "export", "mount", "good", "bad"]
TEXTS = [f"{a} {b} {c}" for a in WORDS for b in WORDS for c in ("good", "bad")]


@pytest.fixture(autouse=True)
def a_machine_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No network, and caches where the task's local scratch would be."""

    def refuse(*_: Any) -> None:
        raise AssertionError("this needs no network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(datasets_config, "HF_DATASETS_CACHE", tmp_path / "scratch")
    monkeypatch.setenv("HOME", str(tmp_path / "scratch"))
    torch.set_num_threads(1)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "fsx" / "data"
    folder.mkdir(parents=True)
    return folder


def job(train: dict[str, Any], **settings: Any) -> Job:
    arguments = {"max_steps": 3, "per_device_train_batch_size": 4, "report_to": "none"}
    train = {**train, "arguments": {**arguments, **train.get("arguments", {})}}
    return parse_job(
        {"name": "tiny", "dataset": {"s3": "datasets/tiny/"}, "train": train, "resources": {"gpus": 0}, **settings}
    )


@pytest.fixture
def run(data: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Trainer]:
    """Trains as the recipe would, and gives back its Trainer."""

    def train(train: dict[str, Any], **settings: Any) -> Trainer:
        trained: list[Trainer] = []
        own_train = Trainer.train

        def remember(self: Trainer, *args: Any, **named: Any) -> Any:
            trained.append(self)
            return own_train(self, *args, **named)

        monkeypatch.setattr(Trainer, "train", remember)
        monkeypatch.setattr(recipes, "read_plan", lambda path: type("Plan", (), {"job": job(train, **settings)}))
        recipes.main(Path("run.json"), data)
        monkeypatch.setattr(Trainer, "train", own_train)
        return trained[0]

    return train


def write_tokenizer(folder: Path) -> None:
    words = {word: number for number, word in enumerate(["<end>", *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<end>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    made: Any = PreTrainedTokenizerFast
    made(tokenizer_object=tokenizer, eos_token="<end>", pad_token="<end>").save_pretrained(folder)


def write_images(folder: Path, mode: str = "RGB") -> None:
    for split, count in (("train", 4), ("test", 2)):
        for label in ("cat", "dog"):
            (folder / split / label).mkdir(parents=True)
            for number in range(count):
                Image.new(mode, (12, 10), color=number * 40).save(folder / split / label / f"{number}.png")


def as_parquet(folder: Path) -> None:
    Table.from_dict({"text": TEXTS}).to_parquet(folder / "train-00000.parquet")
    Table.from_dict({"text": TEXTS[:9]}).to_parquet(folder / "test-00000.parquet")


def as_jsonl(folder: Path) -> None:
    (folder / "train").mkdir()
    (folder / "train" / "a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    (folder / "validation.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS[:9]))


def as_csv(folder: Path) -> None:
    (folder / "train.csv").write_text("text\n" + "\n".join(TEXTS))
    (folder / "val.csv").write_text("text\n" + "\n".join(TEXTS[:9]))


def as_text(folder: Path) -> None:
    (folder / "train.txt").write_text("\n".join(TEXTS))
    (folder / "dev.txt").write_text("\n".join(TEXTS[:9]))


@pytest.mark.parametrize("write", [as_parquet, as_jsonl, as_csv, as_text])
def test_each_format_of_text_loads_with_its_splits(data: Path, write: Callable[[Path], None], tmp_path: Path) -> None:
    write(data)
    write_tokenizer(data / "tokenizer")
    files = {path: path.stat().st_mtime_ns for path in data.rglob("*")}
    splits = load_splits(data, Dataset(s3="datasets/tiny/"))
    assert splits.train["text"][:3] == TEXTS[:3] and len(splits.train) == len(TEXTS)
    assert splits.evaluation is not None and len(splits.evaluation) == 9
    assert {path: path.stat().st_mtime_ns for path in data.rglob("*")} == files, "the data is only read"
    assert all(Path(cache["filename"]).is_relative_to(tmp_path / "scratch") for cache in splits.train.cache_files)


def test_images_stay_in_their_files_until_a_batch_needs_them(data: Path) -> None:
    write_images(data)
    splits = load_splits(data, Dataset(s3="datasets/tiny/"))
    assert (len(splits.train), splits.evaluation and len(splits.evaluation)) == (8, 4)
    assert splits.train.features["label"].names == ["cat", "dog"]
    stored = splits.train.data.column("image").to_pylist()
    assert all(image["bytes"] is None and Path(image["path"]).is_relative_to(data) for image in stored)


def test_columns_are_called_what_the_job_says(data: Path) -> None:
    Table.from_dict({"body": TEXTS}).to_parquet(data / "train.parquet")
    splits = load_splits(data, Dataset(s3="datasets/tiny/", columns={"text": "body"}))
    assert splits.train.column_names == ["text"]
    with pytest.raises(DataUnusable, match="names 'title'; the data has body"):
        load_splits(data, Dataset(s3="datasets/tiny/", columns={"text": "title"}))


def test_data_that_is_not_there_is_said_to_be_missing(data: Path) -> None:
    with pytest.raises(DataUnusable, match="no files"):
        load_splits(data, Dataset(s3="datasets/tiny/"))
    (data / "readme.md").touch()
    with pytest.raises(DataUnusable, match=r"1 x \.md"):
        load_splits(data, Dataset(s3="datasets/tiny/"))
    as_csv(data)
    with pytest.raises(DataUnusable, match="no parquet files for training"):
        load_splits(data, Dataset(s3="datasets/tiny/", format="parquet"))


def test_a_language_model_from_scratch(data: Path, run: Callable[..., Trainer]) -> None:
    as_parquet(data)
    write_tokenizer(data / "tokenizer")
    trainer = run({"recipe": "causal-lm", "model": GPT2, "arguments": {"eval_strategy": "steps", "eval_steps": 3}})
    assert trainer.state.global_step == 3
    assert trainer.model.config.vocab_size == len(WORDS) + 1  # type: ignore[union-attr]
    evaluated = next(line for line in trainer.state.log_history if "eval_loss" in line)
    assert evaluated["eval_perplexity"] == pytest.approx(torch.tensor(evaluated["eval_loss"]).exp().item())
    assert len(trainer.train_dataset[0]["input_ids"]) == 8  # type: ignore[index]


def test_a_language_model_in_a_folder_on_the_mount_goes_on_with_adapters_alone(
    data: Path, run: Callable[..., Trainer], tmp_path: Path
) -> None:
    as_text(data)
    write_tokenizer(data / "model")
    GPT2LMHeadModel(_config(GPT2, vocab_size=8)).save_pretrained(data / "model")
    trainer = run(
        {
            "recipe": "causal-lm",
            "model": "data/model",
            "lora": {"r": 2},
            "arguments": {"gradient_checkpointing": True},
        }
    )
    assert isinstance(trainer.model, PeftModel)
    assert trainer.model.is_gradient_checkpointing
    trained = [name for name, weight in trainer.model.named_parameters() if weight.requires_grad]
    assert trained and all("lora_" in name for name in trained)
    trainer.save_model(str(tmp_path / "saved"))
    assert (tmp_path / "saved" / "adapter_model.safetensors").exists()
    assert not (tmp_path / "saved" / "model.safetensors").exists()


def _config(settings: dict[str, Any], **more: Any) -> Any:
    settings = {**settings, **more}
    return AutoConfig.for_model(settings.pop("model_type"), **settings)


@pytest.mark.parametrize("lora", [None, {"r": 2}], ids=["in full", "with adapters"])
def test_classifying_texts(data: Path, run: Callable[..., Trainer], tmp_path: Path, lora: Any) -> None:
    rows = {"text": TEXTS, "label": [text.split()[-1] for text in TEXTS]}
    Table.from_dict(rows).to_parquet(data / "train.parquet")
    Table.from_dict(rows).to_parquet(data / "test.parquet")
    write_tokenizer(data / "tokenizer")
    arguments = {"eval_strategy": "steps", "eval_steps": 3}
    train = {"recipe": "sequence-classification", "model": BERT, "arguments": arguments}
    trainer = run({**train, "lora": lora} if lora else train)
    evaluated = next(line for line in trainer.state.log_history if "eval_loss" in line)
    assert 0 <= evaluated["eval_accuracy"] <= 1
    trainer.save_model(str(tmp_path / "saved"))
    if not lora:
        loaded = AutoModelForSequenceClassification.from_pretrained(tmp_path / "saved")
        assert loaded.config.id2label == {0: "bad", 1: "good"}
        assert len(AutoTokenizer.from_pretrained(tmp_path / "saved")) == len(WORDS) + 1


@pytest.mark.parametrize("lora", [None, {"r": 2}], ids=["in full", "with adapters"])
@pytest.mark.parametrize("channels", [1, 3])
def test_classifying_images(data: Path, run: Callable[..., Trainer], tmp_path: Path, channels: int, lora: Any) -> None:
    write_images(data, "L" if channels == 3 else "RGB")
    train = {
        "recipe": "image-classification",
        "model": {**VIT, "num_channels": channels},
        "arguments": {"eval_strategy": "steps", "eval_steps": 3},
    }
    trainer = run({**train, "lora": lora} if lora else train)
    evaluated = next(line for line in trainer.state.log_history if "eval_loss" in line)
    assert 0 <= evaluated["eval_accuracy"] <= 1
    trainer.save_model(str(tmp_path / "saved"))
    if not lora:
        loaded = AutoModelForImageClassification.from_pretrained(tmp_path / "saved")
        assert loaded.config.label2id == {"cat": 0, "dog": 1}
        assert (tmp_path / "saved" / "preprocessor_config.json").exists()


def test_a_saved_image_model_is_fine_tuned_with_its_own_preprocessing(data: Path, run: Callable[..., Trainer]) -> None:
    write_images(data)
    first = run({"recipe": "image-classification", "model": {**VIT, "num_channels": 3}})
    first.save_model(str(data / "model"))
    again = run({"recipe": "image-classification", "model": "model"})
    assert again.state.global_step == 3
    assert again.processing_class.size["height"] == 8  # type: ignore[union-attr]


def test_a_model_from_scratch_without_a_tokenizer_is_refused(data: Path, run: Callable[..., Trainer]) -> None:
    as_text(data)
    with pytest.raises(ModelUnusable, match="put one into the dataset, as 'tokenizer/'"):
        run({"recipe": "causal-lm", "model": GPT2})


def test_a_column_that_the_recipe_needs_is_asked_for(data: Path, run: Callable[..., Trainer]) -> None:
    Table.from_dict({"text": TEXTS, "stars": [1] * len(TEXTS)}).to_parquet(data / "train.parquet")
    with pytest.raises(DataUnusable, match="no column 'label', it has text, stars"):
        run({"recipe": "sequence-classification", "model": BERT})


def test_unknown_arguments_are_refused_all_at_once_with_suggestions(tmp_path: Path) -> None:
    asked = {"learning_rat": 1e-3, "num_epochs": 3, "zebra": 1}
    with pytest.raises(ArgumentsRefused) as refused:
        training_arguments(job({"recipe": "causal-lm", "model": GPT2, "arguments": asked}), output_dir=tmp_path)
    assert str(refused.value).splitlines() == [
        "train.arguments.learning_rat: unknown; did you mean 'learning_rate'?",
        "train.arguments.num_epochs: unknown; did you mean 'num_train_epochs'?",
        "train.arguments.zebra: unknown",
    ]


def test_a_misspelt_argument_is_refused_before_any_data_is_looked_at(run: Callable[..., Trainer]) -> None:
    with pytest.raises(ArgumentsRefused, match="learning_rate"):
        run({"recipe": "causal-lm", "model": "no/such-model", "arguments": {"learning_rat": 1e-3}})


def test_arguments_that_do_not_go_together_are_refused_in_the_trainers_words(tmp_path: Path) -> None:
    for asked, said in (({"load_best_model_at_end": True}, "eval"), ({"fp16": True, "bf16": True}, "fp16 and bf16")):
        with pytest.raises(ArgumentsRefused, match=said):
            training_arguments(job({"recipe": "causal-lm", "model": GPT2, "arguments": asked}), output_dir=tmp_path)


def test_arguments_pass_straight_through(tmp_path: Path) -> None:
    asked = {
        "gradient_accumulation_steps": 4,
        "bf16": True,
        "gradient_checkpointing": True,
        "optim": "adafactor",
        "eval_strategy": "steps",
        "eval_steps": 5,
        "load_best_model_at_end": True,
    }
    made = training_arguments(job({"recipe": "causal-lm", "model": GPT2, "arguments": asked}), output_dir=tmp_path)
    assert {name: getattr(made, name) for name in asked} == {**asked}
    assert made.save_steps == 5, "where it looks for the best, it saves"
