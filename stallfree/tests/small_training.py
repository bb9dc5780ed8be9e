"""A training that saves at steps 4 and 8 of 12, with or without stallfree, for what is done to it and its folders."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from stallfree.callback import Stallfree
from stallfree.events import Event
from tiny import Numbers, tiny_model
from transformers import Trainer, TrainerCallback, TrainingArguments
from transformers.utils.logging import disable_progress_bar

Weights = dict[str, torch.Tensor]


def trainer(out: Path, *callbacks: TrainerCallback, **arguments: Any) -> Trainer:
    """Six steps an epoch, two epochs, shuffled, with dropout, with moments, with a falling learning rate."""
    settings: dict[str, Any] = {
        "output_dir": str(out),
        "max_steps": 12,
        "save_steps": 4,
        "logging_steps": 1,
        "per_device_train_batch_size": 8,
        "learning_rate": 1e-2,
        "use_cpu": True,
        "disable_tqdm": True,
        "report_to": "none",
        **arguments,
    }
    return Trainer(
        model=tiny_model(), args=TrainingArguments(**settings), train_dataset=Numbers(), callbacks=list(callbacks)
    )


def stallfree(events: list[Event] | None = None, **settings: Any) -> Stallfree:
    return Stallfree(sink=(events if events is not None else []).append, **settings)


class At(TrainerCallback):
    """Does something when training comes to a point, as a callback of the script's own."""

    def __init__(self, event: str, step: int, action: Callable[[], object]) -> None:
        def call(args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.global_step == step:
                action()

        setattr(self, event, call)


def weights(of: Trainer) -> Weights:
    assert of.model is not None
    return {name: tensor.clone() for name, tensor in of.model.state_dict().items()}


def same(one: Weights, other: Weights) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def first_step(of: Trainer) -> int:
    """The first step that this call of `train` took itself."""
    return int(of._initial_global_step) + 1


def uninterrupted(out: Path, *callbacks: TrainerCallback, **arguments: Any) -> Weights:
    """Train to the end, and leave the folder as it was after step 8."""
    whole = trainer(out, *callbacks, **arguments)
    whole.train()
    shutil.rmtree(out / "checkpoint-12")
    return weights(whole)


def in_a_process(work: Callable[[], object]) -> Callable[[], None]:
    """Work for a forked process: how it ends is its exit status, and pytest does not see it."""

    def run() -> None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        # Progress bars share one lock over all processes: one that is killed while it holds it leaves it locked.
        disable_progress_bar()  # type: ignore[no-untyped-call]
        try:
            work()
        except SystemExit as wanted:
            os._exit(int(wanted.code or 0))
        except BaseException:
            os._exit(1)
        os._exit(0)

    return run


def end_of(work: Callable[[], object]) -> int:
    """Do the work in a process of its own; its exit code, or minus the signal that ended it."""
    child = os.fork()
    if child == 0:
        in_a_process(work)()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
