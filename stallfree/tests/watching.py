"""What the tests of saving during training share: watching a training, and changing it on its way."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from stallfree.cadence import EverySteps
from stallfree.callback import Stallfree
from stallfree.checkpoint import manifest
from stallfree.checkpoint.store import Store
from stallfree.saving.overlapped import OverlappedSaver
from stallfree.saving.saver import PlainSaver
from transformers import GPT2LMHeadModel, Trainer, TrainerCallback

PLAINLY = "written while training waits"


class At(TrainerCallback):
    """Does something with the Trainer's own objects when training comes to a point."""

    def __init__(self, event: str, steps: set[int], action: Callable[..., object]) -> None:
        def call(args: Any, state: Any, control: Any, **objects: Any) -> None:
            if state.global_step in steps:
                action(**objects)

        setattr(self, event, call)


class Noting(TrainerCallback):
    """The weights as they are when a step ends, or at the last of these events before the next step."""

    def __init__(self, event: str = "on_step_end") -> None:
        self.weights: dict[int, dict[str, torch.Tensor]] = {}

        def note(args: Any, state: Any, control: Any, **objects: Any) -> None:
            weights = objects["model"].state_dict()
            self.weights[state.global_step] = {name: tensor.clone() for name, tensor in weights.items()}

        setattr(self, event, note)

    def assert_saved(self, out: Path, *steps: int) -> None:
        assert sorted(int(path.name[11:]) for path in out.glob("checkpoint-*")) == sorted(steps)
        for step in steps:
            manifest.verify(out / f"checkpoint-{step}")
            saved = GPT2LMHeadModel.from_pretrained(out / f"checkpoint-{step}").state_dict()
            assert all(torch.equal(saved[name], tensor) for name, tensor in self.weights[step].items()), step


class Stretched:
    """The clock of a saver for which commits take long: a machine that is slow by itself changes nothing then."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, seconds: float) -> None:
        self._passed = 0.0
        commit = Store.commit

        def slowly(*args: Any) -> Any:
            self._passed += seconds
            return commit(*args)

        monkeypatch.setattr(Store, "commit", slowly)

    def __call__(self) -> float:
        return time.perf_counter() + self._passed


def fast(**settings: Any) -> Stallfree:
    return Stallfree(**{"cadence": EverySteps(8), "make_saver": OverlappedSaver, **settings})


def files_of_each_saver(
    make_trainer: Any,
    change: Callable[[Trainer], object],
    out: Path,
    overlapped: type[OverlappedSaver] = OverlappedSaver,
    **arguments: Any,
) -> None:
    """The same training twice, saved in both ways: the same files, byte for byte, whole in both."""
    files: dict[Any, dict[str, bytes]] = {}
    for saver in (PlainSaver, overlapped):
        trainer = make_trainer(fast(make_saver=saver), **{"max_steps": 20, **arguments})
        change(trainer)
        trainer.train()
        files[saver] = {
            path.relative_to(out).as_posix(): path.read_bytes()
            for path in out.rglob("checkpoint-*/**/*")
            if path.is_file() and path.name != manifest.NAME
        }
        for checkpoint in list(out.glob("checkpoint-*")):
            manifest.verify(checkpoint)
            checkpoint.rename(out.parent / f"{saver.__name__}-{checkpoint.name}")
    assert files[PlainSaver].keys() == files[overlapped].keys()
    assert {path.partition("/")[0] for path in files[PlainSaver]} == {f"checkpoint-{step}" for step in (8, 16, 20)}
    differing = {path for path in files[PlainSaver] if files[PlainSaver][path] != files[overlapped][path]}
    # How long training took stands in the state's log, and is never the same twice.
    assert {Path(path).name for path in differing} <= {"trainer_state.json"}
