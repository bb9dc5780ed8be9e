"""Models and what goes with them: from the Hub, from a folder on the mount, or from nothing but a config."""

from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoTokenizer, PreTrainedTokenizerBase

from containers.trainer.recipes.ingredients import Ingredients


class ModelUnusable(Exception):
    """The job's model cannot be had, or lacks what the recipe needs beside it."""


def make_model(auto: Any, ingredients: Ingredients, **config: Any) -> Any:
    """`config` are the settings that follow from the data; what the job's own config says goes before them."""
    model = ingredients.model
    if isinstance(model, dict):
        settings = {**config, **model}
        return auto.from_config(AutoConfig.for_model(settings.pop("model_type"), **settings))
    # Full precision: mixed precision needs it for its master weights, and asks for less by itself.
    # A head of another size than the data's classes is made anew.
    return auto.from_pretrained(
        locate(model, ingredients.data), dtype=torch.float32, ignore_mismatched_sizes=True, **config
    )


def make_tokenizer(ingredients: Ingredients) -> PreTrainedTokenizerBase:
    """The model's own, or the one that lies with the data in `tokenizer/`."""
    if isinstance(ingredients.model, str):
        source = locate(ingredients.model, ingredients.data)
    else:
        source = str(ingredients.data / "tokenizer")
        if not Path(source).is_dir():
            raise ModelUnusable("a model from scratch needs a tokenizer; put one into the dataset, as 'tokenizer/'")
    tokenizer = AutoTokenizer.from_pretrained(source)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def locate(name: str, data: Path) -> str:
    """A folder on the mount ('data/model') or inside the dataset ('model'); anything else is a name on the Hub."""
    for folder in (data.parent / name, data / name):
        if folder.is_dir():
            return str(folder)
    return name


def label_names(values: list[Any]) -> dict[str, Any]:
    """The config that gives a classifier its classes, by the names that the data has for them."""
    names = [str(value) for value in values]
    return {"id2label": dict(enumerate(names)), "label2id": {name: number for number, name in enumerate(names)}}
