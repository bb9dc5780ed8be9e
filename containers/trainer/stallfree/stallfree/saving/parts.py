"""A checkpoint in three parts: small files written now, large ones to be copied, and those that never change.

The Trainer does all of it in its own order; only its writers of large files are replaced, on this one instance.
"""

import copy
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from transformers import Trainer, TrainerState, modeling_utils
from transformers.trainer import SCHEDULER_NAME, TRAINER_STATE_NAME
from transformers.trainer_pt_utils import reissue_pt_warnings

from stallfree.checkpoint.store import Store
from stallfree.saving import safetensors_layout
from stallfree.saving.image import CannotOverlap, Layout, Source
from stallfree.saving.understood import bare_model, plain_bytes
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
    """Changes when the weights move, grow, or get other names."""
    state = bare_model(trainer).state_dict()
    return tuple((name, weight.data_ptr(), weight.shape, weight.dtype) for name, weight in state.items())


def take_model_apart(trainer: Trainer) -> Model:
    """Let the Trainer save its model, and catch the weights on their way: names and sharing are as it has them."""
    model = bare_model(trainer)
    live = model.state_dict()
    plain_bytes(live)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with _caught(folder) as layouts:
            trainer.save_model(name, _internal_call=True)
        static = {
            file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()
        }
    memory = {weight.untyped_storage().data_ptr() for weight in live.values()}
    for source in (source for layout in layouts for source in layout.sources):
        if source.tensor.untyped_storage().data_ptr() not in memory:
            raise CannotOverlap("its model is saved in another form than it is trained in")
    return Model(
        layouts=tuple(layouts),
        static=static,
        restless=frozenset(buffer.untyped_storage().data_ptr() for buffer in model.buffers()),
        identity=identity_of(trainer),
    )


@contextmanager
def _caught(folder: Path) -> Iterator[list[Layout]]:
    """Files of weights that transformers would write under the folder."""
    layouts: list[Layout] = []
    module: Any = modeling_utils
    write = module.safe_save_file

    def catch(tensors: dict[str, torch.Tensor], filename: str, metadata: dict[str, str] | None = None) -> None:
        if Path(filename).is_relative_to(folder):
            name = Path(filename).relative_to(folder).as_posix()
            layouts.append(safetensors_layout.layout_of(name, tensors, metadata or {}))
        else:
            write(tensors, filename, metadata=metadata)

    module.safe_save_file = catch
    try:
        yield layouts
    finally:
        module.safe_save_file = write


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
