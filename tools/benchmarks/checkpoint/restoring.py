"""What it takes to come back from a checkpoint: the Trainer's own way, stallfree's, and the floors of this disk."""

import multiprocessing
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import safetensors.torch
import torch
from stallfree.checkpoint import manifest
from stallfree.checkpoint.store import Store
from stallfree.direct_io import reading
from stallfree.loading import content
from transformers import GPT2LMHeadModel
from transformers.utils.logging import disable_progress_bar

from tools.benchmarks.checkpoint import floors
from tools.benchmarks.checkpoint.bars import ratio
from tools.benchmarks.checkpoint.measured import Value
from tools.benchmarks.checkpoint.models import config_for
from tools.benchmarks.checkpoint.options import Options
from tools.benchmarks.checkpoint.progress import Progress
from tools.benchmarks.checkpoint.running import SCRATCH
from tools.figures import Figure

Restore = Callable[[Path, torch.nn.Module, torch.optim.Optimizer], None]

_MOST_SECONDS = 600.0


def measure(progress: Progress, options: Options) -> list[Figure]:
    progress.next("restoring: a checkpoint to restore from")
    checkpoint: Path = _in_a_process_of_its_own(_a_checkpoint, SCRATCH / "restoring", options.state_gb)
    progress.next("restoring: the read floors, the Trainer's way, and ours, turn by turn")
    seen = {name: Value.of(times) for name, times in _turn_by_turn(checkpoint, options).items()}
    size = sum(file.stat().st_size for file in checkpoint.iterdir())
    return [
        Figure("restoring: state", size / 1e9, "GB"),
        *(Figure(f"restoring: {name}", value.median, "s", remark=value.in_words) for name, value in seen.items()),
        ratio("restoring: against the read floor", seen["ours"], seen["floor"], 1.05),
        ratio("restoring: against the read floor in huge pages", seen["ours"], seen["floor, huge pages"], 1.05),
        ratio("restoring: against the Trainer's own way", seen["ours"], seen["trainer"], 0.4),
    ]


def _turn_by_turn(checkpoint: Path, options: Options) -> dict[str, list[float]]:
    """Each in a process of its own, as a training that comes back is one: no way finds memory that another one left."""
    ways: dict[str, Callable[[Path, float], float]] = {
        "floor": partial(_floor, huge=False),
        "floor, huge pages": partial(_floor, huge=True),
        "trainer": partial(_restored, _as_the_trainer),
        "ours": partial(_restored, _as_we_do),
        "ours without checksums": partial(_restored, _without_checksums),
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(options.rounds):
        for name, restore in ways.items():
            seconds[name].append(_in_a_process_of_its_own(restore, checkpoint, options.state_gb))
    return seconds


def _in_a_process_of_its_own(work: Callable[..., Any], *asked: Any) -> Any:
    with multiprocessing.get_context("fork").Pool(1) as process:
        return process.apply_async(work, asked).get(_MOST_SECONDS)


def _floor(checkpoint: Path, state_gb: float, *, huge: bool) -> float:
    files = [file for file in checkpoint.iterdir() if file.is_file()]
    _forget(files)
    return floors.timed(floors.read(files, huge=huge))


def _restored(restore: Restore, checkpoint: Path, state_gb: float) -> float:
    # As a Trainer has it.
    torch.set_num_threads(os.cpu_count() or 1)
    model = GPT2LMHeadModel(config_for(state_gb))
    optimizer = _optimizer(model)
    files = [file for file in checkpoint.iterdir() if file.is_file()]
    _forget(files)
    # A virtual machine may have given memory back to its host, and waits for each page to come again.
    floors.memory(sum(file.stat().st_size for file in files), huge=True).close()
    return floors.timed(lambda: restore(checkpoint, model, optimizer))


def _optimizer(model: torch.nn.Module) -> torch.optim.Optimizer:
    return torch.optim.AdamW(model.parameters(), fused=True)


def _forget(files: list[Path]) -> None:
    """From here on the page cache has nothing of them."""
    for file in files:
        handle = os.open(file, os.O_RDONLY)
        os.fsync(handle)
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(handle)


def _as_the_trainer(checkpoint: Path, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """The calls of `Trainer._load_from_checkpoint` and `_load_optimizer_and_scheduler`, without their scheduler."""
    model.load_state_dict(safetensors.torch.load_file(checkpoint / "model.safetensors", device="cpu"), strict=False)
    optimizer.load_state_dict(torch.load(checkpoint / "optimizer.pt", map_location="cpu", weights_only=True))


def _as_we_do(checkpoint: Path, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
    read = content.read(checkpoint)
    weights = read.take_weights()
    assert weights is not None, "the benchmark's model is of plain tensors"
    model.load_state_dict(weights, strict=False)
    optimizer.load_state_dict(read.take_optimizer())


def _without_checksums(checkpoint: Path, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
    with (
        patch.object(reading, "crc64nvme", lambda _: 0),
        patch.object(reading, "combine_crc64nvme", lambda *_: 0),
        patch.object(manifest, "compare", lambda *_: None),
    ):
        _as_we_do(checkpoint, model, optimizer)


def _a_checkpoint(folder: Path, state_gb: float) -> Path:
    """Weights and two moments of each, as `save_pretrained` and `torch.save` write them."""
    model = GPT2LMHeadModel(config_for(state_gb))
    optimizer = _optimizer(model)
    for weight in model.parameters():
        weight.grad = torch.randn_like(weight)
    optimizer.step()
    store = Store(checkpoints=folder, staging=folder / ".staging")
    store.open()
    staged = store.stage(1)
    disable_progress_bar()  # type: ignore[no-untyped-call]
    model.save_pretrained(staged)
    torch.save(optimizer.state_dict(), staged / "optimizer.pt")
    store.commit(1)
    return store.path(1)
