"""Classifying images. They are decoded when a batch needs them, never all at once."""

from typing import Any

import numpy as np
import torch
from datasets import ClassLabel, Image
from transformers import AutoImageProcessor, AutoModelForImageClassification
from transformers.models.vit.image_processing_pil_vit import ViTImageProcessorPil

from containers.trainer.recipes.data import require_columns
from containers.trainer.recipes.ingredients import Ingredients, Prepared, accuracy
from containers.trainer.recipes.models import label_names, locate, make_model
from containers.trainer.recipes.sequence_classification import classes_in


def prepare(ingredients: Ingredients) -> Prepared:
    require_columns(ingredients.splits, "image", "label")
    splits = ingredients.splits.map_each(lambda split: split.cast_column("image", Image()))
    feature = splits.train.features["label"]
    classes = list(range(feature.num_classes)) if isinstance(feature, ClassLabel) else classes_in(splits)
    names = feature.names if isinstance(feature, ClassLabel) else classes
    model = make_model(AutoModelForImageClassification, ingredients, **label_names(names))
    return Prepared(
        task="IMAGE_CLS",
        model=model,
        splits=splits,
        processing=(processor := _processor(ingredients, model.config)),
        collator=_Pixels(processor, channels=getattr(model.config, "num_channels", 3), classes=classes),
        metrics=accuracy,
        head="classifier",
    )


def _processor(ingredients: Ingredients, config: Any) -> Any:
    """On PIL, so that torchvision is not needed."""
    if isinstance(ingredients.model, str):
        source = locate(ingredients.model, ingredients.data)
        return AutoImageProcessor.from_pretrained(source, backend="pil")  # type: ignore[no-untyped-call]
    channels = getattr(config, "num_channels", 3)
    size = config.image_size if isinstance(config.image_size, list | tuple) else (config.image_size,) * 2
    # The plainest there is: resize to what the model sees, and bring 0..255 to -1..1.
    return ViTImageProcessorPil(
        size={"height": size[0], "width": size[1]}, image_mean=[0.5] * channels, image_std=[0.5] * channels
    )


class _Pixels:
    """Makes a batch; in a data loader's worker where there are any."""

    def __init__(self, processor: Any, *, channels: int, classes: list[Any]) -> None:
        self._processor = processor
        self._mode = {1: "L", 3: "RGB", 4: "RGBA"}[channels]
        self._number_of = {value: number for number, value in enumerate(classes)}

    def __call__(self, examples: list[dict[str, Any]]) -> dict[str, torch.Tensor]:
        # Rows, columns, channels: also where there is one channel, which PIL gives no axis.
        images = [np.atleast_3d(np.asarray(example["image"].convert(self._mode))) for example in examples]
        pixels = self._processor(images, return_tensors="pt", input_data_format="channels_last")
        labels = torch.tensor([self._number_of[example["label"]] for example in examples])
        return {"pixel_values": pixels["pixel_values"], "labels": labels}
