"""What it takes to come back from a checkpoint: the Trainer's own way, stallfree's, and the floor of this disk."""

import mmap
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import patch

import safetensors.torch
import torch
from rich.console import Console
from stallfree.checkpoint import manifest
from stallfree.checkpoint.store import Store
from stallfree.loading import content, direct
from transformers import GPT2LMHeadModel

from benchmarks.checkpoint.bars import ratio
from benchmarks.checkpoint.measured import Value
from benchmarks.checkpoint.models import config_for
from benchmarks.checkpoint.options import Options
from benchmarks.checkpoint.running import SCRATCH
from benchmarks.figures import Figure

_FLOOR_CHUNK_BYTES = 16 * 1024 * 1024
_FLOOR_READERS = 2


def seconds_to_restore(checkpoint: Path, model: torch.nn.Module, rounds: int) -> dict[str, list[float]]:
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
    pages = [mmap.mmap(-1, _FLOOR_CHUNK_BYTES) for _ in range(_FLOOR_READERS)]
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


def measure(console: Console, options: Options) -> list[Figure]:
    console.print("[dim]restoring: the read floor, the Trainer's way, and ours ...[/]")
    checkpoint, model = _a_checkpoint(SCRATCH / "restoring", options.state_gb)
    seconds = seconds_to_restore(checkpoint, model, options.rounds)
    seen = {name: Value.of(times) for name, times in seconds.items()}
    size = sum(file.stat().st_size for file in checkpoint.iterdir())
    rows = [Figure("restoring: state", size / 1e9, "GB")]
    rows += [
        Figure(f"restoring: {name}", value.median, "s", remark=f"± {value.spread:.2g}") for name, value in seen.items()
    ]
    return [
        *rows,
        ratio("restoring: against the read floor", seen["ours"], seen["floor"], 1.05),
        ratio("restoring: against the Trainer's own way", seen["ours"], seen["trainer"], 0.4),
    ]


def _a_checkpoint(folder: Path, state_gb: float) -> tuple[Path, torch.nn.Module]:
    """Weights and two moments of each, as `save_pretrained` and `torch.save` write them."""
    model = GPT2LMHeadModel(config_for(state_gb))
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
