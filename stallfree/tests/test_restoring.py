"""A checkpoint is read once: what training gets is what was saved, bit for bit, or another checkpoint."""

import errno
import fcntl
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from stallfree.cadence import EverySteps
from stallfree.callback import Stallfree
from stallfree.checkpoint.manifest import NotWhole
from stallfree.checkpoint.store import Store
from stallfree.direct_io import memory, reading
from stallfree.events import Event, PassedOver, Resumed
from stallfree.loading import content
from stallfree.loading.into_trainer import BestIsDamaged
from tiny import tiny_model
from transformers import Trainer, TrainerCallback

OPTIMIZERS: dict[str, Callable[[Any], torch.optim.Optimizer]] = {
    "AdamW": lambda weights: torch.optim.AdamW(weights),
    "fused AdamW that keeps maxima": lambda weights: torch.optim.AdamW(weights, fused=True, amsgrad=True),
    "SGD with momentum": lambda weights: torch.optim.SGD(weights, lr=0.1, momentum=0.9),
    "SGD without any state": lambda weights: torch.optim.SGD(weights, lr=0.1),
    "RMSprop": lambda weights: torch.optim.RMSprop(weights, centered=True),
}


def saved(folder: Path, *, step: int = 8, optimizer: str = "AdamW", dtype: Any = None, shards: str = "1GB") -> Path:
    """A checkpoint as the Trainer's own save lays it out."""
    model: Any = tiny_model()
    model.to(dtype or torch.float32)
    torch.manual_seed(step)
    moved = OPTIMIZERS[optimizer](model.parameters())
    for weight in model.parameters():
        weight.grad = torch.randn_like(weight)
    moved.step()
    store = Store(checkpoints=folder, staging=folder / ".staging")
    store.open()
    staged = store.stage(step)
    model.save_pretrained(staged, max_shard_size=shards)
    torch.save(moved.state_dict(), staged / "optimizer.pt")
    torch.save({"last_epoch": step}, staged / "scheduler.pt")
    store.commit(step)
    return store.path(step)


def same(one: Any, other: Any) -> bool:
    """Bit for bit, all the way down."""
    if isinstance(one, torch.Tensor):
        return one.dtype == other.dtype and one.shape == other.shape and torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and one == other


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_an_optimizers_state_is_what_pytorch_reads(tmp_path: Path, optimizer: str) -> None:
    checkpoint = saved(tmp_path, optimizer=optimizer)
    state = content.read(checkpoint).take_optimizer()
    assert same(state, torch.load(checkpoint / "optimizer.pt", weights_only=True))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_weights_are_what_safetensors_reads(tmp_path: Path, dtype: torch.dtype) -> None:
    checkpoint = saved(tmp_path, dtype=dtype)
    assert same(content.read(checkpoint).take_weights(), safetensors.torch.load_file(checkpoint / "model.safetensors"))


def test_weights_in_several_files_are_read_as_one_set(tmp_path: Path) -> None:
    checkpoint = saved(tmp_path, shards="4KB")
    files = sorted(checkpoint.glob("model-*.safetensors"))
    assert len(files) > 2
    expected = {name: weight for file in files for name, weight in safetensors.torch.load_file(file).items()}
    assert same(content.read(checkpoint).take_weights(), expected)


def test_each_part_is_handed_out_once_so_that_its_memory_is_free_again(tmp_path: Path) -> None:
    read = content.read(saved(tmp_path))
    assert read.take_weights() and read.take_weights() is None
    assert read.take_optimizer() and read.take_optimizer() is None


def test_a_file_of_many_chunks_is_read_in_its_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_CHUNK_BYTES", 4096)
    checkpoint = saved(tmp_path)
    assert (checkpoint / "optimizer.pt").stat().st_size > 10 * 4096
    state = content.read(checkpoint).take_optimizer()
    assert same(state, torch.load(checkpoint / "optimizer.pt", weights_only=True))


@pytest.mark.parametrize("refuses", ["open", "read"])
def test_where_the_cache_cannot_be_passed_it_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refuses: str
) -> None:
    checkpoint = saved(tmp_path)
    open_, preadv, refused = os.open, os.preadv, []

    def opening(path: Any, flags: int, *rest: Any) -> int:
        if flags & os.O_DIRECT:
            refused.append(path)
            raise OSError(errno.EINVAL, "no direct reads here")
        return open_(path, flags, *rest)

    def reading(handle: int, into: Any, at: int) -> int:
        if fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_DIRECT:
            refused.append(handle)
            raise OSError(errno.EINVAL, "not aligned as this file system wants it")
        return preadv(handle, into, at)

    monkeypatch.setattr(os, *(("open", opening) if refuses == "open" else ("preadv", reading)))
    assert content.read(checkpoint).take_weights() is not None
    assert refused


def _flip(file: Path, at: int) -> None:
    damaged = bytearray(file.read_bytes())
    damaged[at] ^= 1
    file.write_bytes(damaged)


def test_a_flipped_bit_is_found_in_every_file_wherever_it_is(tmp_path: Path) -> None:
    checkpoint = saved(tmp_path)
    for file in [file for file in checkpoint.iterdir() if file.name != "checkpoint.manifest.json"]:
        size = file.stat().st_size
        for at in sorted({0, 8, size // 3, size // 2, size - 1}):
            _flip(file, at)
            with pytest.raises(NotWhole, match=f"{file.name} has other bytes"):
                content.read(checkpoint)
            _flip(file, at)
    content.read(checkpoint)


@pytest.mark.parametrize("name", ["model.safetensors", "optimizer.pt"])
def test_a_cut_or_a_zeroed_tail_and_a_file_of_another_step_are_found(tmp_path: Path, name: str) -> None:
    checkpoint, other = saved(tmp_path), saved(tmp_path, step=16)
    whole = (checkpoint / name).read_bytes()
    for damaged in (whole[:-1], whole[: len(whole) * 7 // 10].ljust(len(whole), b"\0"), (other / name).read_bytes()):
        (checkpoint / name).write_bytes(damaged)
        with pytest.raises(NotWhole, match=name):
            content.read(checkpoint)
    (checkpoint / name).write_bytes(whole)
    content.read(checkpoint)


class Crash(Exception):
    pass


def crash_at_13(trainer: Trainer) -> None:
    def step(*args: Any, **named: Any) -> Any:
        if trainer.state.global_step == 13:
            raise Crash
        return own(*args, **named)

    own, trainer.training_step = trainer.training_step, step  # type: ignore[method-assign]
    with pytest.raises(Crash):
        trainer.train()


def weights(trainer: Trainer) -> dict[str, torch.Tensor]:
    assert trainer.model is not None
    return {name: weight.clone() for name, weight in trainer.model.state_dict().items()}


def test_a_resume_reads_the_large_files_once_and_is_exact(
    make_trainer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = make_trainer()
    whole.train()
    crash_at_13(make_trainer(Stallfree(cadence=EverySteps(5))))
    torch_load, loaded = torch.load, []

    def noting(file: Any, *args: Any, **named: Any) -> Any:
        loaded.append(Path(str(file)).name)
        return torch_load(file, *args, **named)

    with monkeypatch.context() as patched:
        patched.setattr(torch, "load", noting)
        patched.setattr(safetensors.torch, "load_file", lambda *_, **__: pytest.fail("read again"))
        resumed = make_trainer(Stallfree(cadence=EverySteps(5)))
        resumed.train(resume_from_checkpoint=True)
    assert "optimizer.pt" not in loaded and "scheduler.pt" in loaded
    assert same(weights(resumed), weights(whole))
    assert same(resumed.optimizer.state_dict(), whole.optimizer.state_dict())


def test_without_memory_to_spare_the_trainer_loads_what_was_verified(
    make_trainer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = make_trainer()
    whole.train()
    crash_at_13(make_trainer(Stallfree(cadence=EverySteps(5))))
    monkeypatch.setattr(memory, "available_bytes", lambda: 1000)
    resumed = make_trainer(Stallfree(cadence=EverySteps(5)))
    resumed.train(resume_from_checkpoint=True)
    assert same(weights(resumed), weights(whole))


def test_a_damaged_checkpoint_leaves_no_trace_in_training_that_then_begins_anew(
    make_trainer: Any, tmp_path: Path
) -> None:
    whole = make_trainer()
    whole.train()
    crash_at_13(make_trainer(Stallfree(cadence=EverySteps(5), keep=1)))
    _flip(tmp_path / "out" / "checkpoint-10" / "optimizer.pt", 5000)
    events: list[Event] = []
    again = make_trainer(Stallfree(cadence=EverySteps(5), always_resume=True, sink=events.append))
    again.train()
    damaged = str(tmp_path / "out" / "checkpoint-10")
    assert events[0] == PassedOver(damaged, "optimizer.pt has other bytes than were saved")
    assert not any(isinstance(event, Resumed) for event in events)
    assert same(weights(again), weights(whole))


def test_a_best_model_that_is_damaged_is_not_loaded_at_the_end(make_trainer: Any, tmp_path: Path) -> None:
    class Damage(TrainerCallback):
        def on_evaluate(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.global_step == 24:
                file = tmp_path / "out" / "checkpoint-6" / "model.safetensors"
                _flip(file, file.stat().st_size - 1)

    best = {"eval_strategy": "steps", "eval_steps": 6, "save_strategy": "steps", "save_steps": 6}
    highest = {"metric_for_best_model": "loss", "greater_is_better": True, "load_best_model_at_end": True}
    with pytest.raises(BestIsDamaged, match="its last weights"):
        make_trainer(Stallfree(), Damage(), **best, **highest).train()
