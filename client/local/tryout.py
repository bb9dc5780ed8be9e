"""The use of it all: the checkpoint from S3, loaded by plain transformers, reads digits that it has never seen."""

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
class Reading:
    image: Image.Image
    truth: str
    read_as: str


def read(checkpoint: Path, held_out: Path) -> list[Reading]:
    """What the model of this folder makes of every picture; a picture's folder is its truth."""
    untyped: Any = logging
    untyped.disable_progress_bar()
    model = AutoModelForImageClassification.from_pretrained(checkpoint)
    from_pretrained: Any = AutoImageProcessor.from_pretrained
    processor = from_pretrained(checkpoint, backend="pil")
    files = sorted(held_out.glob("*/*.png"))
    images = [Image.open(file).convert("L") for file in files]
    pixels = processor(
        [np.atleast_3d(np.asarray(image)) for image in images], return_tensors="pt", input_data_format="channels_last"
    )
    with torch.inference_mode():
        answers = model(**pixels).logits.argmax(-1).tolist()
    return [
        Reading(image, file.parent.name, str(model.config.id2label[answer]))
        for file, image, answer in zip(files, images, answers, strict=True)
    ]


def accuracy(readings: Sequence[Reading]) -> float:
    return sum(reading.truth == reading.read_as for reading in readings) / len(readings)


def show(console: Console, readings: Sequence[Reading]) -> None:
    """Some of the pictures, far apart in the pile so that they differ."""
    count = max(1, console.width // _COLUMNS_EACH)
    some = readings[:: max(1, len(readings) // count)][:count]
    table = Table.grid(padding=(0, 3))
    table.add_row(*(_picture(reading.image) for reading in some))
    table.add_row(*(f"read as {reading.read_as}, is {reading.truth}" for reading in some))
    console.print(table)


def _picture(image: Image.Image) -> str:
    darkness = np.asarray(image).astype(int) * (len(_SHADES) - 1) // 255
    return "\n".join("".join(_SHADES[pixel] * 2 for pixel in row) for row in darkness)
