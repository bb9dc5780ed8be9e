"""Saves of a training whose host has no memory for a copy: the state goes to the disk through a little of it."""

import mmap
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from transformers.trainer import OPTIMIZER_NAME

from stallfree.images import torch_layout
from stallfree.images.image import Image
from stallfree.images.layout import Layout
from stallfree.images.pages import Pages
from stallfree.images.staging import Copies
from stallfree.memory import HUGE_PAGE_BYTES
from stallfree.saving.flight import Flight
from stallfree.saving.grounds.ground import Ground
from stallfree.saving.grounds.parts import Model
from stallfree.saving.grounds.passing import PARTS, write_passing

LEAST_BYTES = PARTS * mmap.PAGESIZE
_WRITERS = 2


class PassingGround(Ground):
    """The optimizer's next step waits until all is written."""

    def __init__(self, model: Model, most_bytes: int, *, copies: Copies, warn: Callable[[str], None]) -> None:
        super().__init__(model, 0, copies=copies, warn=warn, slots=0)
        # Memory is taken in whole units: never more than is allowed.
        unit = HUGE_PAGE_BYTES if most_bytes >= HUGE_PAGE_BYTES else LEAST_BYTES
        self._room_bytes = most_bytes // unit * unit
        self._pages = Pages(copies, room_to_grow_bytes=0)

    @property
    def size_bytes(self) -> int:
        return self._room_bytes

    def take_memory(self) -> None:
        self._pages.reserve(self._room_bytes)

    def take_restless(self, slot: int) -> set[int]:
        """There is no room for them alone: where there are some, training goes on when all is copied."""
        self.copies.begin()
        self.holds_training = bool(self._restless) or not self.was_watched
        return set(range(len(self._model.sources))) if self.holds_training else set()

    def copy(self, flight: Flight, staged: Path) -> list[Image]:
        with ThreadPoolExecutor(_WRITERS, thread_name_prefix="stallfree-writer") as writers:

            def write(layout: Layout) -> None:
                path = staged / layout.name
                path.parent.mkdir(parents=True, exist_ok=True)
                flight.written.append(write_passing(path, layout, self._pages, self.copies, writers))

            for layout in self._model.layouts:
                write(layout)
            if flight.moment.optimizer is not None:
                optimizer = flight.moment.optimizer()
                try:
                    layout = torch_layout.layout_of(OPTIMIZER_NAME, optimizer)
                except Exception as reason:
                    self._write_slowly(optimizer, staged, reason)
                else:
                    write(layout)
        return []
