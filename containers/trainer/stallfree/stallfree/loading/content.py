"""A checkpoint, read once: compared with its manifest on the way, its large files kept to become tensors.

Training sees none of it before all of it was compared: a checkpoint that turns out to be damaged has left no trace.
"""

import json
import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import torch
from transformers.trainer import OPTIMIZER_NAME
from transformers.utils import SAFE_WEIGHTS_INDEX_NAME, SAFE_WEIGHTS_NAME

from stallfree.checkpoint import manifest
from stallfree.checkpoint.manifest import NotWhole
from stallfree.loading import direct, tensors
from stallfree.saving.pages import available_bytes

logger = logging.getLogger(__name__)

_SHARE_OF_SPARE_MEMORY = 0.9

T = TypeVar("T")


class Content:
    """What of a checkpoint is in memory. Each part is handed out once, so that its memory is free when it was used."""

    def __init__(
        self, folder: Path, weights: tuple[str, ...] = (), files: Mapping[str, memoryview] | None = None
    ) -> None:
        self.folder = folder
        self._weights = weights
        self._files = dict(files or {})

    def take_weights(self) -> dict[str, torch.Tensor] | None:
        """All weights by name; None if they are not here (any more): then they are to be loaded from the disk."""
        if not self._weights or not self._files.keys() >= set(self._weights):
            return None
        contents = [self._files.pop(name) for name in self._weights]
        return _or_none("weights", lambda: _merged(contents))

    def take_optimizer(self) -> Any:
        content = self._files.pop(OPTIMIZER_NAME, None)
        return None if content is None else _or_none("optimizer", lambda: tensors.of_torch_file(content))


def _merged(contents: list[memoryview]) -> dict[str, torch.Tensor]:
    return {name: weight for content in contents for name, weight in tensors.of_safetensors(content).items()}


def _or_none(part: str, read: Callable[[], T]) -> T | None:
    try:
        return read()
    except tensors.NotPlain as reason:
        logger.warning("The %s of the checkpoint is loaded by the Trainer itself: %s.", part, reason)
        return None


def read(folder: Path, *, weights: bool = True, optimizer: bool = True, past_the_cache: bool = True) -> Content:
    """Every byte of the checkpoint, compared with its manifest; NotWhole at the first difference.

    `weights` and `optimizer` say what to keep in memory of what was read.
    """
    began = time.perf_counter()
    whole = manifest.complete(folder)
    try:
        kept = _files_of_weights(folder) if weights else ()
        names = {*kept, OPTIMIZER_NAME} if optimizer else set(kept)
        sizes = {file.path: file.bytes for file in whole.files if file.path in names}
        pages = _room_for(sizes)
        wanted = [direct.Wanted(folder / file.path, file.bytes, pages.get(file.path)) for file in whole.files]
        checksums = direct.read(wanted, past_the_cache=past_the_cache)
    except OSError as error:
        raise NotWhole(f"it cannot be read: {error}") from error
    for file, checksum in zip(whole.files, checksums, strict=True):
        manifest.compare(file, manifest.as_s3_reports(checksum))
    logger.info(
        "%s is whole: %.2f GB read in %.1f s.", folder.name, whole.total_bytes / 1e9, time.perf_counter() - began
    )
    return Content(folder, kept, {name: pages[name][:size] for name, size in sizes.items() if name in pages})


def _files_of_weights(folder: Path) -> tuple[str, ...]:
    """In the order in which the Trainer looks for them."""
    if (folder / SAFE_WEIGHTS_NAME).exists():
        return (SAFE_WEIGHTS_NAME,)
    index = folder / SAFE_WEIGHTS_INDEX_NAME
    if not index.exists():
        return ()
    try:
        return tuple(sorted(set(json.loads(index.read_bytes())["weight_map"].values())))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise NotWhole(f"{index.name} is damaged: {error!r}") from error


def _room_for(sizes: Mapping[str, int]) -> dict[str, memoryview]:
    needed, spare = sum(sizes.values()), available_bytes()
    if needed > spare * _SHARE_OF_SPARE_MEMORY:
        logger.warning("The Trainer loads the checkpoint itself: %d bytes, and %d of memory to be had.", needed, spare)
        return {}
    return {name: direct.new_pages(size) for name, size in sizes.items()}
