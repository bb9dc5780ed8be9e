"""For hosts without memory for a whole copy: the state goes to the disk in chunks, through little memory."""

import mmap
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from transformers.trainer import OPTIMIZER_NAME

from stallfree.direct_io.memory import HUGE_PAGE_BYTES
from stallfree.saving.buffers.chunked_file import PARTS, write_in_chunks
from stallfree.saving.buffers.model_layout import ModelLayout
from stallfree.saving.buffers.staging_buffer import StagingBuffer
from stallfree.saving.images import torch_layout
from stallfree.saving.images.copies import Copies
from stallfree.saving.images.image import Image
from stallfree.saving.images.layout import Layout
from stallfree.saving.images.pages import Pages
from stallfree.saving.save_in_progress import SaveInProgress

LEAST_BYTES = PARTS * mmap.PAGESIZE
_WRITERS = 2


class ChunkedBuffer(StagingBuffer):
    """The optimizer's next step waits until all is written."""

    def __init__(self, model: ModelLayout, most_bytes: int, *, copies: Copies, warn: Callable[[str], None]) -> None:
        super().__init__(model, 0, copies=copies, warn=warn, slots=0)
        # Whole units of memory, and never more than is allowed.
        unit = HUGE_PAGE_BYTES if most_bytes >= HUGE_PAGE_BYTES else LEAST_BYTES
        self._room_bytes = most_bytes // unit * unit
        self._pages = Pages(copies, room_to_grow_bytes=0)

    @property
    def size_bytes(self) -> int:
        return self._room_bytes

    def take_memory(self) -> None:
        self._pages.reserve(self._room_bytes)

    def copy_volatile(self, slot: int) -> set[int]:
        """There is no room for them alone: if there are any, training waits until everything is copied."""
        self.copies.begin()
        self.holds_training = bool(self._volatile) or not self.was_observed
        return set(range(len(self._model.sources))) if self.holds_training else set()

    def copy(self, save: SaveInProgress, staged: Path) -> list[Image]:
        with ThreadPoolExecutor(_WRITERS, thread_name_prefix="stallfree-writer") as writers:

            def write(layout: Layout) -> None:
                path = staged / layout.name
                path.parent.mkdir(parents=True, exist_ok=True)
                save.written.append(write_in_chunks(path, layout, self._pages, self.copies, writers))

            for layout in self._model.layouts:
                write(layout)
            if save.captured.optimizer is not None:
                optimizer = save.captured.optimizer()
                try:
                    layout = torch_layout.layout_of(OPTIMIZER_NAME, optimizer)
                except Exception as reason:
                    self._write_slowly(optimizer, staged, reason)
                else:
                    write(layout)
        return []
