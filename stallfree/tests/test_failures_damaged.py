"""A checkpoint that was damaged after it was written: the plain Trainer trains on from it, or dies of it; ours does
neither, and goes on exactly from the older one."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from small_training import Weights, first_step, same, stallfree, trainer, uninterrupted, weights
from stallfree.checkpoint import manifest
from stallfree.events import Event, PassedOver, Resumed

DIES, GOES_ASTRAY = "dies", "goes astray"


@dataclass(frozen=True)
class Damage:
    """Done to the folder of step 8; the folder of step 4 stays as it is."""

    name: str
    do: Callable[[Path], object]
    plain: str
    reason: str


def missing(file: str) -> Damage:
    return Damage(f"{file} missing", lambda folder: (folder / file).unlink(), GOES_ASTRAY, f"{file} is missing")


def cut(file: str, share: float) -> Damage:
    def do(folder: Path) -> None:
        content = (folder / file).read_bytes()
        (folder / file).write_bytes(content[: int(len(content) * share)])

    return Damage(f"{file} cut to {share:.0%}", do, DIES, f"{file} has ")


def spoiled(file: str, how: str, spoil: Callable[[bytes], bytes]) -> Damage:
    """Some bytes of a tensor are others than were written."""

    def do(folder: Path) -> None:
        content = (folder / file).read_bytes()
        numbers = _longest_tensor(folder / file)
        at = content.index(numbers)
        (folder / file).write_bytes(content[:at] + spoil(numbers) + content[at + len(numbers) :])

    return Damage(f"{file} {how}", do, GOES_ASTRAY, f"{file} has other bytes")


def _longest_tensor(file: Path) -> bytes:
    state = load_file(file) if file.suffix == ".safetensors" else torch.load(file, weights_only=True)["state"][0]
    return max((tensor.numpy().tobytes() for tensor in state.values()), key=len)


def pages_never_written(numbers: bytes) -> bytes:
    """What a power cut can leave of a file that was not flushed."""
    return numbers[: len(numbers) // 2] + bytes(len(numbers) - len(numbers) // 2)


def flipped(numbers: bytes) -> bytes:
    return bytes(byte ^ 0x10 for byte in numbers)


def _incomplete(folder: Path) -> None:
    (folder / "optimizer.pt").unlink()
    (folder / "checkpoint-is-incomplete.txt").touch()


DAMAGES = [
    missing("optimizer.pt"),
    missing("scheduler.pt"),
    missing("rng_state.pth"),
    cut("model.safetensors", 0.7),
    cut("optimizer.pt", 0.7),
    cut("trainer_state.json", 0.0),
    spoiled("model.safetensors", "zero in parts", pages_never_written),
    spoiled("optimizer.pt", "zero in parts", pages_never_written),
    spoiled("model.safetensors", "with flipped bits", flipped),
    spoiled("optimizer.pt", "with flipped bits", flipped),
    Damage(
        "the model of step 4 in it",
        lambda folder: shutil.copy(folder.parent / "checkpoint-4" / "model.safetensors", folder),
        GOES_ASTRAY,
        "model.safetensors has other bytes",
    ),
    Damage(
        "left incomplete by the Trainer's own just-in-time save",
        _incomplete,
        GOES_ASTRAY,
        "optimizer.pt is missing",
    ),
]
each_damage = pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.name)


@dataclass(frozen=True)
class Trained:
    plainly: Path
    ours: Path
    end: Weights

    def copy_of(self, folder: Path, to: Path) -> Path:
        return Path(shutil.copytree(folder, to / "out"))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    plainly, ours = tmp_path_factory.mktemp("plain"), tmp_path_factory.mktemp("ours")
    end = uninterrupted(plainly)
    assert same(uninterrupted(ours, stallfree()), end), "the callback changes nothing in training"
    return Trained(plainly, ours, end)


@each_damage
def test_the_plain_trainer_crashes_or_has_other_results(trained: Trained, damage: Damage, tmp_path: Path) -> None:
    """A row that fails here is one that transformers has fixed: it can be deleted."""
    out = trained.copy_of(trained.plainly, tmp_path)
    damage.do(out / "checkpoint-8")
    resumed = trainer(out)
    if damage.plain == DIES:
        with pytest.raises(Exception):  # noqa: B017  # of many kinds: what matters is that it is not ours
            resumed.train(resume_from_checkpoint=True)
    else:
        resumed.train(resume_from_checkpoint=True)
        assert first_step(resumed) == 9, "it took the damaged one"
        assert not same(weights(resumed), trained.end)


@each_damage
def test_ours_names_it_and_goes_on_exactly_from_the_older_one(trained: Trained, damage: Damage, tmp_path: Path) -> None:
    out = trained.copy_of(trained.ours, tmp_path)
    damage.do(out / "checkpoint-8")
    events: list[Event] = []
    resumed = trainer(out, stallfree(events))
    resumed.train(resume_from_checkpoint=True)
    passed, began = events[:2]
    assert isinstance(passed, PassedOver) and damage.reason in passed.reason
    assert began == Resumed(4, str(out / "checkpoint-4"))
    assert same(weights(resumed), trained.end)
    manifest.verify(out / "checkpoint-8")  # The damaged one was replaced by its whole successor.


def test_undamaged_both_are_exact(trained: Trained, tmp_path: Path) -> None:
    for folder, callbacks in ((trained.plainly, []), (trained.ours, [stallfree()])):
        out = trained.copy_of(folder, tmp_path / folder.name)
        resumed = trainer(out, *callbacks)
        resumed.train(resume_from_checkpoint=True)
        assert first_step(resumed) == 9 and same(weights(resumed), trained.end)
