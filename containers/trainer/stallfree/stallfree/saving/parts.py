"""A checkpoint in three parts: small files written now, large ones to be copied, and those that never change.

The Trainer does all of it in its own order; only its writers of large files are replaced, on this one instance.
"""

import copy
import pickle
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from torch.utils._python_dispatch import is_traceable_wrapper_subclass
from transformers import Trainer, TrainerState, modeling_utils
from transformers.trainer import SCHEDULER_NAME, TRAINER_STATE_NAME
from transformers.trainer_pt_utils import reissue_pt_warnings
from transformers.utils.import_utils import is_peft_available

from stallfree.checkpoint.store import Store
from stallfree.saving import safetensors_layout
from stallfree.saving.layout import CannotOverlap, Layout, Source
from stallfree.saving.understood import bare_model
from stallfree.trainer_files import shadow, unshadow, write_checkpoint


@dataclass(frozen=True)
class Model:
    """The model's part: where its weights' files come from, and the files beside them."""

    layouts: tuple[Layout, ...]
    static: Mapping[str, bytes]
    restless: frozenset[int]
    """Buffers, by the address of their memory: a forward pass may change them."""
    identity: tuple[Any, ...]

    @property
    def sources(self) -> tuple[Source, ...]:
        return tuple(source for layout in self.layouts for source in layout.sources)


def identity_of(trainer: Trainer) -> tuple[Any, ...]:
    """Changes when the weights move, grow, or get other names, and when what is saved beside them changes."""
    model = bare_model(trainer)
    weights = (
        (name, weight.data_ptr(), weight.shape, weight.dtype)
        for name, weight in model.state_dict().items()
        if isinstance(weight, torch.Tensor)
    )
    return (*weights, *_settings_of(model))


def _settings_of(model: Any) -> Iterator[bytes | str]:
    """The configurations that are saved beside weights, as they are now: they are changed in place."""
    for name in ("config", "generation_config", "peft_config"):
        setting = getattr(model, name, None)
        try:
            yield pickle.dumps(setting)
        except Exception:
            # Much slower, and every save asks.
            yield repr(setting)
    if getattr(model, "_hf_peft_config_loaded", False):
        # Only these are saved.
        yield repr(model.active_adapters())


def take_model_apart(trainer: Trainer) -> Model:
    """Let the Trainer save its model, and catch the weights on their way: names and sharing are as it has them."""
    model = bare_model(trainer)
    live = model.state_dict()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with _caught(folder) as layouts:
            trainer.save_model(name, _internal_call=True)
        static = {
            file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()
        }
    memory = {_memory_of(weight) for weight in live.values() if isinstance(weight, torch.Tensor)}
    for source in (source for layout in layouts for source in layout.sources):
        if _memory_of(source.memory) not in memory:
            raise CannotOverlap("its model is saved in another form than it is trained in")
    return Model(
        layouts=tuple(layouts),
        static=static,
        restless=frozenset(_memory_of(buffer) for buffer in model.buffers()),
        identity=identity_of(trainer),
    )


def _memory_of(tensor: torch.Tensor) -> int:
    # What has no memory of its own (offloaded, or made of parts) is not saved as it is either.
    return 0 if is_traceable_wrapper_subclass(tensor) else tensor.untyped_storage().data_ptr()


@contextmanager
def _caught(folder: Path) -> Iterator[list[Layout]]:
    """Files of weights that would be written under the folder, by whichever library saves this kind of model."""
    layouts: list[Layout] = []
    writers: list[tuple[Any, str]] = [(modeling_utils, "safe_save_file"), (safetensors.torch, "save_file")]
    if is_peft_available():
        writers.append((import_module("peft.peft_model"), "safe_save_file"))
    write = safetensors.torch.save_file

    def catch(tensors: dict[str, torch.Tensor], filename: Any, metadata: dict[str, str] | None = None) -> None:
        if Path(filename).is_relative_to(folder):
            name = Path(filename).relative_to(folder).as_posix()
            layouts.append(safetensors_layout.layout_of(name, tensors, metadata or {}))
        else:
            write(tensors, filename, metadata=metadata)

    before = [getattr(module, name) for module, name in writers]
    for module, name in writers:
        setattr(module, name, catch)
    try:
        yield layouts
    finally:
        for (module, name), writer in zip(writers, before, strict=True):
            setattr(module, name, writer)


@dataclass
class Moment:
    """What a save must note before training goes on, besides the weights."""

    optimizer: dict[str, Any] | None = None
    """References to the live state; None where only the model is saved, or the state is sharded."""
    groups: list[dict[str, Any]] = field(default_factory=list)
    """The settings of a sharded optimizer."""
    state: TrainerState | None = None

    def write_state(self, folder: Path) -> None:
        assert self.state is not None, "the Trainer always saves its state"
        type(self.state).save_to_json(self.state, str(folder / TRAINER_STATE_NAME))


def write_small_files(trainer: Trainer, trainers_own_save: Callable[..., None], store: Store) -> Moment:
    """Scheduler, scaler, random states, and what callbacks keep: the Trainer writes them into the staged folder."""
    moment = Moment()

    def write_scheduler(folder: str) -> None:
        if not trainer.args.should_save:
            return  # The first process of several saves what they share.
        optimizer: Any = trainer.optimizer
        if trainer.is_fsdp_enabled:
            moment.groups = [dict(group) for group in optimizer.param_groups]
        else:
            moment.optimizer = optimizer.state_dict()
        with warnings.catch_warnings(record=True) as caught:
            torch.save(trainer.lr_scheduler.state_dict(), Path(folder, SCHEDULER_NAME))  # type: ignore[union-attr]
        reissue_pt_warnings(caught)  # type: ignore[no-untyped-call]

    def note_state(path: str) -> None:
        # Its JSON grows with every line of the log, so it is left to another thread; the lines never change.
        moment.state = copy.copy(trainer.state)
        moment.state.log_history = list(trainer.state.log_history)
        moment.state.stateful_callbacks = copy.deepcopy(trainer.state.stateful_callbacks)

    shadow(trainer, "save_model", lambda *_, **__: None)
    shadow(trainer, "_save_optimizer_and_scheduler", write_scheduler)
    shadow(trainer.state, "save_to_json", note_state)
    try:
        write_checkpoint(trainer, trainers_own_save, store)
    finally:
        unshadow(trainer, "save_model", "_save_optimizer_and_scheduler")
        unshadow(trainer.state, "save_to_json")
    return moment
