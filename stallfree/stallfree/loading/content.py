"""A checkpoint, read once: compared with its manifest on the way, its large files kept to become tensors.

Training sees none of it before all of it was compared: a checkpoint that turns out to be damaged has left no trace.
"""

import json
import logging
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import torch
from transformers.trainer import OPTIMIZER_NAME
from transformers.utils import SAFE_WEIGHTS_INDEX_NAME, SAFE_WEIGHTS_NAME

from stallfree.checkpoint import manifest
from stallfree.checkpoint.manifest import NotWhole
from stallfree.direct_io import memory, reading
from stallfree.loading import tensors

logger = logging.getLogger(__name__)

_SHARE_OF_SPARE_MEMORY = 0.9


class Content:
    """A checkpoint's parts in memory. Each is handed out once, so that its memory is freed after use."""

    def __init__(self, folder: Path, weights: dict[str, torch.Tensor] | None = None, optimizer: Any = None) -> None:
        self.folder = folder
        self._weights = weights
        self._optimizer = optimizer

    def take_weights(self) -> dict[str, torch.Tensor] | None:
        """All weights by name; None if they are not here (any more): then they are to be loaded from the disk."""
        taken, self._weights = self._weights, None
        return taken

    def take_optimizer(self) -> Any:
        taken, self._optimizer = self._optimizer, None
        return taken


def read(folder: Path, *, weights: bool = True, optimizer: bool = True, past_the_cache: bool = True) -> Content:
    """Every byte of the checkpoint, compared with its manifest; NotWhole at the first difference.

    `weights` and `optimizer` say what to keep in memory of what was read.
    """
    began = time.perf_counter()
    whole = manifest.complete(folder)
    of_weights = _files_of_weights(folder) if weights else set()
    kept = {*of_weights, OPTIMIZER_NAME} if optimizer else of_weights
    pages = _room_for({file.path: file.bytes for file in whole.files if file.path in kept})
    # The optimizer's first: it is parsed while the others are read.
    files = sorted(whole.files, key=lambda file: file.path != OPTIMIZER_NAME)
    wanted = [reading.Wanted(folder / file.path, file.bytes, pages.get(file.path)) for file in files]
    parts = {}
    try:
        with closing(reading.read(wanted, past_the_cache=past_the_cache)) as checksums:
            for file, checksum in zip(files, checksums, strict=True):
                manifest.compare(file, manifest.as_s3_reports(checksum))
                if file.path in pages:
                    parts[file.path] = _part_of(file.path, pages[file.path][: file.bytes])
    except OSError as error:
        raise NotWhole(f"it cannot be read: {error}") from error
    logger.info(
        "%s is whole: %.2f GB read in %.1f s.", folder.name, whole.total_bytes / 1e9, time.perf_counter() - began
    )
    return Content(folder, _merged([parts.get(name) for name in of_weights]), parts.get(OPTIMIZER_NAME))


def _part_of(name: str, content: memoryview) -> Any:
    try:
        return tensors.of_torch_file(content) if name == OPTIMIZER_NAME else tensors.of_safetensors(content)
    except tensors.NotPlain as reason:
        logger.warning("The Trainer loads %s itself: %s.", name, reason)
        return None


def _merged(parts: list[dict[str, torch.Tensor] | None]) -> dict[str, torch.Tensor] | None:
    """The weights of all files; None if one of them is to be loaded from the disk."""
    weights: dict[str, torch.Tensor] = {}
    for part in parts:
        if part is None:
            return None
        weights |= part
    return weights or None


def _files_of_weights(folder: Path) -> set[str]:
    """Those that the Trainer would load: it looks for one file first, and for several by their index."""
    if (folder / SAFE_WEIGHTS_NAME).exists():
        return {SAFE_WEIGHTS_NAME}
    index = folder / SAFE_WEIGHTS_INDEX_NAME
    try:
        return set(json.loads(index.read_bytes())["weight_map"].values()) if index.exists() else set()
    except OSError as error:
        raise NotWhole(f"it cannot be read: {error}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise NotWhole(f"{index.name} is damaged: {error!r}") from error


def _room_for(sizes: Mapping[str, int]) -> dict[str, memoryview]:
    needed, spare = sum(sizes.values()), memory.available_bytes()
    if needed > spare * _SHARE_OF_SPARE_MEMORY:
        logger.warning("The Trainer loads the checkpoint itself: %d bytes, and %d of memory to be had.", needed, spare)
        return {}
    # Not touched here: the readers do that, several at a time.
    return {name: memoryview(memory.take(size)) for name, size in sizes.items()}
