"""The model's part of a checkpoint: files of weights, which are copied at each save, and those that never change.

The Trainer saves its model once, in its own order; only its writers of weights are replaced meanwhile.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from torch.utils._python_dispatch import is_traceable_wrapper_subclass
from transformers import Trainer, modeling_utils
from transformers.utils.import_utils import is_peft_available

from stallfree.images import safetensors_layout
from stallfree.images.layout import CannotOverlap, Layout, Source
from stallfree.saving.grounds.identity import Identity
from stallfree.saving.understood import bare_model


@dataclass(frozen=True)
class Model:
    """The model's part: where its weights' files come from, and the files beside them."""

    layouts: tuple[Layout, ...]
    static: Mapping[str, bytes]
    restless: frozenset[int]
    """Buffers, by the address of their memory: a forward pass may change them."""
    is_unchanged: Callable[[], bool]

    @property
    def sources(self) -> tuple[Source, ...]:
        return tuple(source for layout in self.layouts for source in layout.sources)


def take_model_apart(trainer: Trainer) -> Model:
    """Let the Trainer save its model, and catch the weights on their way: names and sharing are as it has them."""
    model = bare_model(trainer)
    live = model.state_dict()
    layouts: list[Layout] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with weights_caught(folder, lambda *weights: layouts.append(safetensors_layout.layout_of(*weights))):
            trainer.save_model(name, _internal_call=True)
        static = {
            file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()
        }
    identity = Identity(model)
    memory = {_memory_of(weight) for weight in live.values() if isinstance(weight, torch.Tensor)}
    for source in (source for layout in layouts for source in layout.sources):
        if _memory_of(source.memory) not in memory:
            raise CannotOverlap("its model is saved in another form than it is trained in")
    return Model(
        layouts=tuple(layouts),
        static=static,
        restless=frozenset(_memory_of(buffer) for buffer in model.buffers()),
        is_unchanged=lambda: identity.is_of(bare_model(trainer)),
    )


def _memory_of(tensor: torch.Tensor) -> int:
    # What has no memory of its own (offloaded, or made of parts) is not saved as it is either.
    return 0 if is_traceable_wrapper_subclass(tensor) else tensor.untyped_storage().data_ptr()


@contextmanager
def weights_caught(
    folder: Path, take: Callable[[str, Mapping[str, torch.Tensor], Mapping[str, str]], None]
) -> Iterator[None]:
    """Files of weights that would be written under the folder, by whichever library saves this kind of model.

    Of each `take` gets its name in the folder, its tensors, and its metadata.
    """
    writers: list[tuple[Any, str]] = [(modeling_utils, "safe_save_file"), (safetensors.torch, "save_file")]
    if is_peft_available():
        writers.append((import_module("peft.peft_model"), "safe_save_file"))
    write = safetensors.torch.save_file

    def catch(tensors: dict[str, torch.Tensor], filename: Any, metadata: dict[str, str] | None = None) -> None:
        if Path(filename).is_relative_to(folder):
            take(Path(filename).relative_to(folder).as_posix(), tensors, metadata or {})
        else:
            write(tensors, filename, metadata=metadata)

    before = [getattr(module, name) for module, name in writers]
    for module, name in writers:
        setattr(module, name, catch)
    try:
        yield
    finally:
        for (module, name), writer in zip(writers, before, strict=True):
            setattr(module, name, writer)
