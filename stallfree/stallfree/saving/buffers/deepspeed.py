"""DeepSpeed: what each process's files hold is known only when it saves, so its writes are intercepted.

Its loader wants the files that it writes itself, so none of another format (as DCP's) would do. It saves as it always
does, and what it hands to be written is laid out and copied while training waits: for memory, and for no disk.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from transformers import Trainer

from stallfree.checkpoint.store import Store
from stallfree.internals.trainer import write_checkpoint
from stallfree.ranks import Ranks
from stallfree.saving import supported
from stallfree.saving.buffers.model_layout import ModelLayout, intercepted_weights
from stallfree.saving.buffers.staging_buffer import StagingBuffer
from stallfree.saving.captured_state import IN_MEMORY, files_left_in, state_captured
from stallfree.saving.deferred_files import Write, deferred
from stallfree.saving.images import safetensors_layout, torch_layout
from stallfree.saving.images.copies import copies_for
from stallfree.saving.images.image import Image
from stallfree.saving.images.layout import Layout
from stallfree.saving.save_in_progress import SaveInProgress

_ROOM_TO_GROW_BYTES = 64 * 1024
"""In each file: counts of steps and the like take another byte now and then."""


class DeepSpeedBuffer(StagingBuffer):
    """Memory for the files of this process, in the order in which they come; the same ones at each save."""

    def __init__(
        self,
        trainer: Trainer,
        ranks: Ranks,
        sizes: list[int],
        *,
        warn: Callable[[str], None],
        check_memory: Callable[[int], None],
    ) -> None:
        nothing = ModelLayout(layouts=(), static={}, volatile=frozenset(), is_unchanged=lambda: True)
        copies = copies_for(supported.devices_of(trainer))
        super().__init__(nothing, 0, copies=copies, warn=warn, check_memory=check_memory)
        self._ranks = ranks
        self._sizes = sizes
        self._images = [Image(copies) for _ in sizes]
        self._has_grown_too_large = False

    @property
    def size_bytes(self) -> int:
        return sum(self._sizes)

    def still_fits(self) -> bool:
        return not self._has_grown_too_large

    def take_memory(self) -> None:
        for image, size in zip(self._images, self._sizes, strict=True):
            image.reserve(size)

    def capture(
        self, save: SaveInProgress, trainer: Trainer, trainers_own_save: Callable[..., None], store: Store
    ) -> None:
        """Everything is copied when this returns: DeepSpeed makes its step without calling us first."""
        places: dict[str, int] = {}
        with _folder_everywhere(self._ranks) as parent, state_captured(trainer, save.captured):
            folder = parent / f"checkpoint-{save.step}"
            folder.mkdir()
            with intercepted(folder, lambda layout: self._take_file(layout, places)) as others:
                write_checkpoint(trainer, trainers_own_save, store, into=parent)
            save.captured.files |= others | files_left_in(folder)
        save.images = [self._images[place] for place in places.values()]
        save.copied.set()

    def copy(self, save: SaveInProgress, staged: Path) -> list[Image]:
        for image in save.images:
            (staged / image.layout.name).parent.mkdir(parents=True, exist_ok=True)
        return save.images

    def _take_file(self, layout: Layout, places: dict[str, int]) -> None:
        place = places.setdefault(layout.name, len(places))
        if place == len(self._images):
            self._images.append(Image(self.copies))
            self._sizes.append(0)
        growth = layout.size_bytes - self._sizes[place]
        if growth > 0:
            self._has_grown_too_large = True
            self._check_memory(growth)
            self._has_grown_too_large = False
            self._sizes[place] += growth
        image = self._images[place]
        image.lay_out(layout)
        # At once: DeepSpeed gathers each file's tensors just before it, and uses their memory again just after.
        self.copies.begin()
        image.take(layout.sources)
        self.copies.hold_training()
        image.let_sources_go()


def plan_buffer(
    trainer: Trainer,
    ranks: Ranks,
    *,
    warn: Callable[[str], None],
    check_memory: Callable[[int], None],
    check_growth: Callable[[int], None],
) -> DeepSpeedBuffer:
    """Measure how much memory is needed, by a save that keeps nothing. All processes make it together."""
    ranks.together(lambda: supported.check(trainer))
    layouts: dict[str, Layout] = {}
    with _folder_everywhere(ranks) as folder, intercepted(folder, lambda layout: layouts.update({layout.name: layout})):
        trainer.save_model(str(folder), _internal_call=True)
        if not trainer.args.save_only_model:
            trainer._save_optimizer_and_scheduler(str(folder))
    sizes = [layout.size_bytes + _ROOM_TO_GROW_BYTES for layout in layouts.values()]
    # While the layouts hold what DeepSpeed gathers and copies to save: each save needs memory for both.
    check_memory(sum(sizes))
    return DeepSpeedBuffer(trainer, ranks, sizes, warn=warn, check_memory=check_growth)


@contextmanager
def intercepted(folder: Path, take: Callable[[Layout], None]) -> Iterator[dict[str, Write]]:
    """Intercept what would be written below the folder: `take` gets the layouts of large files, the rest is yielded.

    What goes wrong with one of them is raised at the end: other processes wait for each part of this one's save.
    """
    faults: list[Exception] = []

    def attempt(lay_out: Callable[[], Layout]) -> None:
        try:
            take(lay_out())
        except Exception as fault:
            faults.append(fault)

    def take_weights(name: str, tensors: Mapping[str, torch.Tensor], metadata: Mapping[str, str]) -> None:
        # If DeepSpeed does not gather the weights, the Trainer writes an empty file, and removes it again.
        if tensors:
            attempt(lambda: safetensors_layout.layout_of(name, tensors, metadata))

    def take_state(name: str, content: Any) -> bool:
        path = Path(name)
        # DeepSpeed writes into a folder of its own, the Trainer small files beside it.
        is_large = len(path.parts) > 1
        if is_large:
            attempt(lambda: replace(torch_layout.layout_of(path.name, content, folder=IN_MEMORY), name=name))
        return is_large

    with intercepted_weights(folder, take_weights), deferred(folder, take=take_state) as others:
        yield others
    if faults:
        raise faults[0]


@contextmanager
def _folder_everywhere(ranks: Ranks) -> Iterator[Path]:
    """A folder in memory for each process, or for none of them: DeepSpeed's saves wait for all processes."""
    with ExitStack() as folders:

        def make() -> str:
            return folders.enter_context(tempfile.TemporaryDirectory(prefix="stallfree-", dir=IN_MEMORY))

        yield Path(ranks.together(make)[ranks.number])
