"""The staging buffer: memory laid out as files, which saves copy to, and which weights are volatile."""

from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import torch
from transformers import Trainer
from transformers.trainer import OPTIMIZER_NAME

from stallfree.checkpoint.store import Store
from stallfree.saving import supported
from stallfree.saving.buffers.model_layout import ModelLayout
from stallfree.saving.buffers.weight_versions import WeightVersions
from stallfree.saving.captured_state import capture
from stallfree.saving.images import torch_layout
from stallfree.saving.images.copies import Copies
from stallfree.saving.images.image import Image
from stallfree.saving.save_in_progress import SaveInProgress


class _Slot:
    """Memory for one copy of the state."""

    def __init__(self, copies: Copies, files: int) -> None:
        self.images = [Image(copies) for _ in range(files)]
        self.optimizer = Image(copies)


class StagingBuffer:
    """Kept from save to save: the memory, and what is known of the weights."""

    def __init__(
        self,
        model: ModelLayout,
        optimizer_bytes: int,
        *,
        copies: Copies,
        warn: Callable[[str], None],
        check_memory: Callable[[int], None] = lambda growth: None,
        slots: int = 1,
    ) -> None:
        self.ready: Future[None] = Future()
        self.versions = WeightVersions([source.counting for source in model.sources if source.counting is not None])
        self.is_ready_everywhere = False
        self.was_observed = False
        """The weights were observed from one update to the next: before that, any of them may be volatile."""
        self.has_saved = False
        self.holds_training = False
        """Training waits for the copies of a save."""
        self._model = model
        self._optimizer_bytes = optimizer_bytes
        self.copies = copies
        self._warn = warn
        self._check_memory = check_memory
        self._slots = [_Slot(copies, len(model.layouts)) for _ in range(slots)]
        self._volatile = {
            place
            for place, source in enumerate(model.sources)
            if source.memory.untyped_storage().data_ptr() in model.volatile
        }

    @property
    def size_bytes(self) -> int:
        return len(self._slots) * (sum(layout.size_bytes for layout in self._model.layouts) + self._optimizer_bytes)

    @property
    def slots(self) -> int:
        return len(self._slots)

    def still_fits(self) -> bool:
        """The optimizer's state is not looked at: each save lays it out anew."""
        return self._model.is_unchanged()

    def take_memory(self) -> None:
        for slot in self._slots:
            for image, layout in zip(slot.images, self._model.layouts, strict=True):
                image.lay_out(layout)
            slot.optimizer.reserve(self._optimizer_bytes)

    def add_volatile(self, changed: set[int]) -> None:
        self._volatile |= changed

    def names(self, places: set[int]) -> list[str]:
        return [self._model.sources[place].name for place in sorted(places)]

    def capture(
        self, save: SaveInProgress, trainer: Trainer, trainers_own_save: Callable[..., None], store: Store
    ) -> None:
        save.captured = capture(trainer, trainers_own_save, store)

    def copy_volatile(self, slot: int) -> set[int]:
        """Copy now what may change before the optimizer's step; the places of it."""
        self.copies.begin()
        places = self._volatile if self.was_observed else set(range(len(self._model.sources)))
        if places:
            self._take(slot, lambda place: place in places)
            self.copies.hold_training()
        return set(places)

    def copy(self, save: SaveInProgress, staged: Path) -> list[Image]:
        """Queue all copies; the images may not be read before `copies.finish`."""
        slot = self._slots[save.slot]
        self._take(save.slot, lambda place: place not in save.copied_at_once)
        if save.captured.optimizer is None:
            return slot.images
        optimizer = save.captured.optimizer()
        try:
            layout = torch_layout.layout_of(OPTIMIZER_NAME, optimizer)
            growth = max(0, layout.size_bytes - self._optimizer_bytes)
            self._check_memory(growth)
            self._optimizer_bytes += growth
            slot.optimizer.lay_out(layout)
            slot.optimizer.take(layout.sources)
        except Exception as reason:
            self._write_slowly(optimizer, staged, reason)
            return slot.images
        return [*slot.images, slot.optimizer]

    def write_static(self, folder: Path) -> None:
        for name, content in self._model.static.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)

    def _write_slowly(self, optimizer: dict[str, Any], staged: Path, reason: Exception) -> None:
        """Until this is written, the optimizer's next step waits."""
        self._warn(f"Training waits at its next step while PyTorch writes the optimizer's state: {reason}.")
        with self.copies.in_line():
            torch.save(optimizer, staged / OPTIMIZER_NAME)

    def _take(self, slot: int, is_wanted: Callable[[int], bool]) -> None:
        place = 0
        for image in self._slots[slot].images:
            sources = image.layout.sources
            image.take(source for at, source in enumerate(sources, start=place) if is_wanted(at))
            place += len(sources)


def optimizer_bytes_of(trainer: Trainer) -> int:
    if trainer.args.save_only_model or not trainer.args.should_save:
        return 0
    return supported.bytes_of(trainer.optimizer.state_dict())  # type: ignore[union-attr]
