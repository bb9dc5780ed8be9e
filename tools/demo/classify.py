"""The checkpoint from S3, loaded by plain transformers, classifies digits that it was not trained on."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from rich.console import Console
from rich.table import Table
from transformers import AutoImageProcessor, AutoModelForImageClassification
from transformers.utils import logging

_SHADES = " ░▒▓█"
_COLUMNS_EACH = 20


@dataclass(frozen=True)
class Prediction:
    image: Image.Image
    label: str
    predicted: str


def predict(checkpoint: Path, images: Path) -> list[Prediction]:
    """For every picture; the name of its folder is its label."""
    untyped: Any = logging
    untyped.disable_progress_bar()
    model = AutoModelForImageClassification.from_pretrained(checkpoint)
    from_pretrained: Any = AutoImageProcessor.from_pretrained
    processor = from_pretrained(checkpoint, backend="pil")
    files = sorted(images.glob("*/*.png"))
    pictures = [Image.open(file).convert("L") for file in files]
    pixels = processor(
        [np.atleast_3d(np.asarray(one)) for one in pictures], return_tensors="pt", input_data_format="channels_last"
    )
    with torch.inference_mode():
        answers = model(**pixels).logits.argmax(-1).tolist()
    return [
        Prediction(picture, file.parent.name, str(model.config.id2label[answer]))
        for file, picture, answer in zip(files, pictures, answers, strict=True)
    ]


def accuracy(predictions: Sequence[Prediction]) -> float:
    return sum(one.label == one.predicted for one in predictions) / len(predictions)


def show(console: Console, predictions: Sequence[Prediction]) -> None:
    """As many as fit on a line, spread over all of them so that they differ."""
    count = max(1, console.width // _COLUMNS_EACH)
    some = predictions[:: max(1, len(predictions) // count)][:count]
    table = Table.grid(padding=(0, 3))
    table.add_row(*(_picture(one.image) for one in some))
    table.add_row(*(f"read as {one.predicted}, is {one.label}" for one in some))
    console.print(table)


def _picture(image: Image.Image) -> str:
    darkness = np.asarray(image).astype(int) * (len(_SHADES) - 1) // 255
    return "\n".join("".join(_SHADES[pixel] * 2 for pixel in row) for row in darkness)
