"""The model's part of a checkpoint: files of weights, which are copied at each save, and those that never change.

The Trainer saves its model once, in its own order; only its writers of weights are replaced meanwhile.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from transformers import Trainer, modeling_utils
from transformers.utils.import_utils import is_peft_available

from stallfree.internals.pytorch import is_made_of_parts
from stallfree.internals.replacing import replaced_in
from stallfree.saving.buffers.model_identity import ModelIdentity
from stallfree.saving.images import safetensors_layout
from stallfree.saving.images.layout import CannotOverlap, Layout, Source
from stallfree.saving.supported import bare_model


@dataclass(frozen=True)
class ModelLayout:
    """The model's part: where its weights' files come from, and the files beside them."""

    layouts: tuple[Layout, ...]
    static: Mapping[str, bytes]
    volatile: frozenset[int]
    """Buffers, by the address of their memory: a forward pass may change them."""
    is_unchanged: Callable[[], bool]

    @property
    def sources(self) -> tuple[Source, ...]:
        return tuple(source for layout in self.layouts for source in layout.sources)


def plan_layout(trainer: Trainer) -> ModelLayout:
    """Let the Trainer save its model, and intercept the weights: so names and sharing are as it writes them."""
    model = bare_model(trainer)
    live = model.state_dict()
    layouts: list[Layout] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with intercepted_weights(folder, lambda *weights: layouts.append(safetensors_layout.layout_of(*weights))):
            trainer.save_model(name, _internal_call=True)
        static = {
            file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()
        }
    identity = ModelIdentity(model)
    memory = {_memory_of(weight) for weight in live.values() if isinstance(weight, torch.Tensor)}
    for source in (source for layout in layouts for source in layout.sources):
        if _memory_of(source.memory) not in memory:
            raise CannotOverlap("its model is saved in another form than it is trained in")
    return ModelLayout(
        layouts=tuple(layouts),
        static=static,
        volatile=frozenset(_memory_of(buffer) for buffer in model.buffers()),
        is_unchanged=lambda: identity.is_of(bare_model(trainer)),
    )


def _memory_of(tensor: torch.Tensor) -> int:
    # A tensor without memory of its own (offloaded, or made of parts) is not saved as it is.
    return 0 if is_made_of_parts(tensor) else tensor.untyped_storage().data_ptr()


@contextmanager
def intercepted_weights(
    folder: Path, take: Callable[[str, Mapping[str, torch.Tensor], Mapping[str, str]], None]
) -> Iterator[None]:
    """Intercept files of weights that would be written under the folder, by any of the libraries that save models.

    Of each `take` gets its name in the folder, its tensors, and its metadata.
    """
    writers: list[tuple[Any, str]] = [(modeling_utils, "safe_save_file"), (safetensors.torch, "save_file")]
    if is_peft_available():
        writers.append((import_module("peft.peft_model"), "safe_save_file"))
    write = safetensors.torch.save_file

    def intercept(tensors: dict[str, torch.Tensor], filename: Any, metadata: dict[str, str] | None = None) -> None:
        if Path(filename).is_relative_to(folder):
            take(Path(filename).relative_to(folder).as_posix(), tensors, metadata or {})
        else:
            write(tensors, filename, metadata=metadata)

    with ExitStack() as stack:
        for module, name in writers:
            stack.enter_context(replaced_in(module, name, intercept))
        yield
