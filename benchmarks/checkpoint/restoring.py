"""What it takes to come back from a checkpoint: the Trainer's own way, stallfree's, and the floors of this disk."""

import os
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import safetensors.torch
import torch
from stallfree.checkpoint import manifest
from stallfree.checkpoint.store import Store
from stallfree.loading import content, direct
from transformers import GPT2LMHeadModel
from transformers.utils.logging import disable_progress_bar

from benchmarks.checkpoint import floors
from benchmarks.checkpoint.bars import ratio
from benchmarks.checkpoint.measured import Value
from benchmarks.checkpoint.models import config_for
from benchmarks.checkpoint.options import Options
from benchmarks.checkpoint.progress import Progress
from benchmarks.checkpoint.running import SCRATCH
from benchmarks.figures import Figure


def measure(progress: Progress, options: Options) -> list[Figure]:
    # As a Trainer has it; the trainings before this were told otherwise.
    torch.set_num_threads(os.cpu_count() or 1)
    progress.next("restoring: a checkpoint to restore from")
    checkpoint, model = _a_checkpoint(SCRATCH / "restoring", options.state_gb)
    progress.next("restoring: the read floors, the Trainer's way, and ours, turn by turn")
    seen = {name: Value.of(times) for name, times in _turn_by_turn(checkpoint, model, options.rounds).items()}
    size = sum(file.stat().st_size for file in checkpoint.iterdir())
    return [
        Figure("restoring: state", size / 1e9, "GB"),
        *(Figure(f"restoring: {name}", value.median, "s", remark=value.in_words) for name, value in seen.items()),
        ratio("restoring: against the read floor", seen["ours"], seen["floor"], 1.05),
        ratio("restoring: against the read floor in huge pages", seen["ours"], seen["floor, huge pages"], 1.05),
        ratio("restoring: against the Trainer's own way", seen["ours"], seen["trainer"], 0.4),
    ]


def _turn_by_turn(checkpoint: Path, model: torch.nn.Module, rounds: int) -> dict[str, list[float]]:
    files = [file for file in checkpoint.iterdir() if file.is_file()]
    size = sum(file.stat().st_size for file in files)
    ways: dict[str, Callable[[], object]] = {
        "floor": floors.read(files, huge=False),
        "floor, huge pages": floors.read(files, huge=True),
        "trainer": lambda: _as_the_trainer(checkpoint, model, _optimizer(model)),
        "ours": lambda: _as_we_do(checkpoint, model, _optimizer(model)),
        "ours without checksums": lambda: _without_checksums(checkpoint, model, _optimizer(model)),
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, restore in ways.items():
            for file in files:
                _forget(file)
            # A virtual machine may have given memory back to its host, and waits for each page to come again.
            floors.memory(size, huge=True).close()
            kept: list[object] = []
            seconds[name].append(floors.timed(lambda restore=restore, kept=kept: kept.append(restore())))  # type: ignore[misc]
            # Not part of it: to give back the optimizer's state, which training would keep.
            kept.clear()
    return seconds


def _optimizer(model: torch.nn.Module) -> torch.optim.Optimizer:
    return torch.optim.AdamW(model.parameters(), fused=True)


def _forget(file: Path) -> None:
    """From here on the page cache has nothing of it."""
    handle = os.open(file, os.O_RDONLY)
    os.fsync(handle)
    os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
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
    disable_progress_bar()  # type: ignore[no-untyped-call]
    model.save_pretrained(staged)
    torch.save(optimizer.state_dict(), staged / "optimizer.pt")
    store.commit(1)
    return store.path(1), model
