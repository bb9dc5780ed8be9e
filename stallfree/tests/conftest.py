"""A Trainer as anyone would write it, for a model small enough to train in a test."""

import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from stallfree.callback import Stallfree
from stallfree.saving.overlapped import OverlappedSaver
from stallfree.saving.saver import MakeSaver, PlainSaver
from tiny import Numbers, tiny_model
from transformers import Trainer, TrainerCallback, TrainingArguments


@pytest.fixture(autouse=True, scope="session")
def quick_trainings() -> None:
    # Models this small only wait for each other's threads.
    torch.set_num_threads(1)
    # Each training begins by looking for garbage: not in all that was ever imported.
    gc.collect()
    gc.freeze()


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Where `make_trainer` puts its checkpoints."""
    return tmp_path / "out"


MakeTrainer = Callable[..., Trainer]


@pytest.fixture
def make_trainer(tmp_path: Path) -> MakeTrainer:
    """12 steps an epoch, two epochs, shuffled, with dropout."""

    def make(*callbacks: TrainerCallback, **arguments: Any) -> Trainer:
        settings: dict[str, Any] = {
            "output_dir": str(tmp_path / "out"),
            "num_train_epochs": 2,
            "per_device_train_batch_size": 4,
            "learning_rate": 1e-2,
            "logging_steps": 5,
            "save_strategy": "no",
            "use_cpu": True,
            "disable_tqdm": True,
            **arguments,
        }
        return Trainer(
            model=tiny_model(),
            args=TrainingArguments(**settings),
            train_dataset=Numbers(),
            eval_dataset=Numbers(),
            callbacks=list(callbacks),
        )

    return make


@pytest.fixture(params=[PlainSaver, OverlappedSaver], ids=["plain", "overlapped"])
def each_saver(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> MakeSaver:
    """The test runs once with every way of saving as the callback's default."""
    defaults: dict[str, object] = Stallfree.__init__.__kwdefaults__  # type: ignore[assignment]  # it has some
    monkeypatch.setitem(defaults, "make_saver", request.param)
    return request.param  # type: ignore[no-any-return]
