"""What it takes to come back from a checkpoint: the Trainer's own way, stallfree's, and the floor of this disk.

`python -m benchmarks.checkpoint_restoring`, on a machine that does nothing else: a minute, and 1.5 GB of disk.
"""

import os
import shutil
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest.mock import patch

import safetensors.torch
import torch
from rich.console import Console
from stallfree.checkpoint import manifest
from stallfree.checkpoint.store import Store
from stallfree.loading import content, direct
from transformers import GPT2Config, GPT2LMHeadModel

from benchmarks.figures import FOLDER, Figure, publish

_SCRATCH = FOLDER.parent / "checkpoint-restoring"
_ROUNDS = 7
_FLOOR_CHUNK_BYTES = 16 * 1024 * 1024
_FLOOR_READERS = 2


def seconds_to_restore(checkpoint: Path, model: torch.nn.Module, rounds: int = _ROUNDS) -> dict[str, list[float]]:
    """Each way, one after the other in every round, each from a disk whose cache has nothing of the checkpoint."""
    ways: dict[str, Callable[[], object]] = {
        "floor": lambda: _read_directly(checkpoint),
        "trainer": lambda: _as_the_trainer(checkpoint, model, _optimizer(model)),
        "ours": lambda: _as_we_do(checkpoint, model, _optimizer(model)),
        "ours without checksums": lambda: _without_checksums(checkpoint, model, _optimizer(model)),
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, restore in ways.items():
            _forget(checkpoint)
            began = time.perf_counter()
            kept = restore()
            seconds[name].append(time.perf_counter() - began)
            # Not part of it: to give back the optimizer's state, which training would keep.
            del kept
    return seconds


def _optimizer(model: torch.nn.Module) -> torch.optim.Optimizer:
    return torch.optim.AdamW(model.parameters(), fused=True)


def _forget(checkpoint: Path) -> None:
    for file in checkpoint.iterdir():
        handle = os.open(file, os.O_RDONLY)
        os.fsync(handle)
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(handle)


def _read_directly(checkpoint: Path) -> None:
    """The same bytes, into the same few pages again and again."""
    pages = [direct.new_pages(_FLOOR_CHUNK_BYTES) for _ in range(_FLOOR_READERS)]
    handles = [os.open(file, os.O_RDONLY | os.O_DIRECT) for file in checkpoint.iterdir()]
    chunks = [(handle, at) for handle in handles for at in range(0, os.fstat(handle).st_size, _FLOOR_CHUNK_BYTES)]

    def read_every_other(reader: int) -> None:
        for handle, at in chunks[reader::_FLOOR_READERS]:
            os.preadv(handle, [pages[reader]], at)

    with ThreadPoolExecutor(_FLOOR_READERS) as readers:
        list(readers.map(read_every_other, range(_FLOOR_READERS)))
    for handle in handles:
        os.close(handle)


def _as_the_trainer(checkpoint: Path, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> object:
    """The calls of `Trainer._load_from_checkpoint` and `_load_optimizer_and_scheduler`, without their scheduler."""
    model.load_state_dict(safetensors.torch.load_file(checkpoint / "model.safetensors", device="cpu"), strict=False)
    optimizer.load_state_dict(torch.load(checkpoint / "optimizer.pt", map_location="cpu", weights_only=True))
    return optimizer


def _as_we_do(checkpoint: Path, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> object:
    read = content.read(checkpoint)
    weights = read.take_weights()
    assert weights is not None, "the benchmark's model is of plain tensors"
    model.load_state_dict(weights, strict=False)
    optimizer.load_state_dict(read.take_optimizer())
    return optimizer


def _without_checksums(checkpoint: Path, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> object:
    with (
        patch.object(direct, "crc64nvme", lambda _: 0),
        patch.object(direct, "combine_crc64nvme", lambda *_: 0),
        patch.object(manifest, "compare", lambda *_: None),
    ):
        return _as_we_do(checkpoint, model, optimizer)


def figures_of(checkpoint: Path, model: torch.nn.Module) -> list[Figure]:
    seen = {name: statistics.median(times) for name, times in seconds_to_restore(checkpoint, model).items()}
    size = sum(file.stat().st_size for file in checkpoint.iterdir())
    return [
        Figure("state", size / 1e9, "GB"),
        Figure("floor: one direct read of it", seen["floor"], "s"),
        Figure("restore, the Trainer's own way", seen["trainer"], "s"),
        Figure("restore, checksums compared", seen["ours"], "s"),
        Figure("restore, without checksums", seen["ours without checksums"], "s"),
        _held("... against the floor", seen["ours"] / seen["floor"], 1.05),
        _held("... against the Trainer's own way", seen["ours"] / seen["trainer"], 0.4),
    ]


def _held(name: str, value: float, most: float) -> Figure:
    return Figure(name, value, "ratio", f"at most {most:.4g}", value <= most)


def a_checkpoint(folder: Path) -> tuple[Path, torch.nn.Module]:
    """124 million weights and two moments of each, as `save_pretrained` and `torch.save` write them."""
    model: Any = GPT2LMHeadModel(GPT2Config())
    optimizer = _optimizer(model)
    for weight in model.parameters():
        weight.grad = torch.randn_like(weight)
    optimizer.step()
    store = Store(checkpoints=folder, staging=folder / ".staging")
    store.open()
    staged = store.stage(1)
    model.save_pretrained(staged)
    torch.save(optimizer.state_dict(), staged / "optimizer.pt")
    store.commit(1)
    return store.path(1), model


def restoring(console: Console) -> None:
    shutil.rmtree(_SCRATCH, ignore_errors=True)
    try:
        publish(console, "checkpoint_restoring", figures_of(*a_checkpoint(_SCRATCH)))
    finally:
        shutil.rmtree(_SCRATCH)


if __name__ == "__main__":
    restoring(Console())
