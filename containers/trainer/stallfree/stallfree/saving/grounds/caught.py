"""DeepSpeed: what each process's files hold is known only when it saves, so they are taken on their way to the disk.

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
from stallfree.images import safetensors_layout, torch_layout
from stallfree.images.image import Image
from stallfree.images.layout import Layout
from stallfree.images.staging import copies_for
from stallfree.later import Write, held_back
from stallfree.ranks import Ranks
from stallfree.saving import understood
from stallfree.saving.flight import Flight
from stallfree.saving.grounds.ground import Ground
from stallfree.saving.grounds.parts import Model, weights_caught
from stallfree.saving.moment import IN_MEMORY, state_noted, taken_out_of
from stallfree.trainer_files import write_checkpoint

_ROOM_TO_GROW_BYTES = 64 * 1024
"""In each file: counts of steps and the like take another byte now and then."""


class CaughtGround(Ground):
    """Memory for the files of this process, in the order in which they come; it is the same at each save."""

    def __init__(
        self,
        trainer: Trainer,
        ranks: Ranks,
        sizes: list[int],
        *,
        warn: Callable[[str], None],
        check_memory: Callable[[int], None],
    ) -> None:
        nothing = Model(layouts=(), static={}, restless=frozenset(), is_unchanged=lambda: True)
        copies = copies_for(understood.devices_of(trainer))
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

    def note(self, flight: Flight, trainer: Trainer, trainers_own_save: Callable[..., None], store: Store) -> None:
        """All of a save is copied when this returns: DeepSpeed's own step comes before anyone could wait for it."""
        places: dict[str, int] = {}
        with _folder_everywhere(self._ranks) as parent, state_noted(trainer, flight.moment):
            folder = parent / f"checkpoint-{flight.step}"
            folder.mkdir()
            with caught(folder, lambda layout: self._take_file(layout, places)) as others:
                write_checkpoint(trainer, trainers_own_save, store, into=parent)
            flight.moment.files |= others | taken_out_of(folder)
        flight.images = [self._images[place] for place in places.values()]
        flight.copied.set()

    def copy(self, flight: Flight, staged: Path) -> list[Image]:
        for image in flight.images:
            (staged / image.layout.name).parent.mkdir(parents=True, exist_ok=True)
        return flight.images

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
        # One by one: what is gathered for a file is made just before it, and its memory used again just after.
        self.copies.begin()
        image.take(layout.sources)
        self.copies.hold_training()
        image.let_sources_go()


def take_apart(
    trainer: Trainer,
    ranks: Ranks,
    *,
    warn: Callable[[str], None],
    check_memory: Callable[[int], None],
    check_growth: Callable[[int], None],
) -> CaughtGround:
    """A save of which nothing is kept tells how much memory there must be. All processes make it together."""
    ranks.together(lambda: understood.check(trainer))
    layouts: dict[str, Layout] = {}
    with _folder_everywhere(ranks) as folder, caught(folder, lambda layout: layouts.update({layout.name: layout})):
        trainer.save_model(str(folder), _internal_call=True)
        if not trainer.args.save_only_model:
            trainer._save_optimizer_and_scheduler(str(folder))
    sizes = [layout.size_bytes + _ROOM_TO_GROW_BYTES for layout in layouts.values()]
    # Before the layouts go, and with them what DeepSpeed itself gathers and copies to save: each save has both.
    check_memory(sum(sizes))
    return CaughtGround(trainer, ranks, sizes, warn=warn, check_memory=check_growth)


@contextmanager
def caught(folder: Path, take: Callable[[Layout], None]) -> Iterator[dict[str, Write]]:
    """What would be written below the folder: `take` gets the layouts of large files at once, the rest is kept here.

    What goes wrong with one of them is raised at the end: other processes wait for each part of this one's save.
    """
    faults: list[Exception] = []

    def attempt(lay_out: Callable[[], Layout]) -> None:
        try:
            take(lay_out())
        except Exception as fault:
            faults.append(fault)

    def take_weights(name: str, tensors: Mapping[str, torch.Tensor], metadata: Mapping[str, str]) -> None:
        # Where DeepSpeed does not gather them, the Trainer writes a file of no weights, and removes it again.
        if tensors:
            attempt(lambda: safetensors_layout.layout_of(name, tensors, metadata))

    def take_state(name: str, content: Any) -> bool:
        path = Path(name)
        # DeepSpeed's own stand in a folder of theirs; beside it are small ones of the Trainer.
        is_large = len(path.parts) > 1
        if is_large:
            attempt(lambda: replace(torch_layout.layout_of(path.name, content, folder=IN_MEMORY), name=name))
        return is_large

    with weights_caught(folder, take_weights), held_back(folder, take=take_state) as others:
        yield others
    if faults:
        raise faults[0]


@contextmanager
def _folder_everywhere(ranks: Ranks) -> Iterator[Path]:
    """In memory, and in each process one of its own, or in none: DeepSpeed's saves wait for all processes."""
    with ExitStack() as folders:

        def make() -> str:
            return folders.enter_context(tempfile.TemporaryDirectory(prefix="stallfree-", dir=IN_MEMORY))

        yield Path(ranks.together(make)[ranks.number])
