"""One save, from the live tensors to the disk."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field

from stallfree.checkpoint.manifest import File
from stallfree.saving.captured_state import CapturedState
from stallfree.saving.images.image import Image


@dataclass(frozen=True)
class Part:
    """What one process wrote of a checkpoint, for the one that commits it."""

    files: list[File]
    torn: list[str]
    """Names of weights that changed while they were copied."""


@dataclass
class SaveInProgress:
    step: int
    began: float
    changed: Callable[[], set[int]]
    """Which weights have changed since the save began, by place; asked until the optimizer changes them all."""
    protected: set[int] = field(default_factory=set)
    """Steps that rotation leaves alone."""
    captured: CapturedState = field(default_factory=CapturedState)
    copied_at_once: set[int] = field(default_factory=set)
    """Places of the weights that were copied before training went on."""
    fault: Exception | None = None
    """What went wrong before the copy began."""
    slot: int = 0
    """Which slot of the buffer it copies to."""
    images: list[Image] = field(default_factory=list)
    """What is copied before it is written: a snapshot, or all of a save by DeepSpeed."""
    written: list[File] = field(default_factory=list)
    """What was written while it was copied."""
    stall_seconds: float = 0.0
    is_waited_for: bool = False
    """Training stands still until it is committed."""
    copied: threading.Event = field(default_factory=threading.Event)
    committed: Future[None] | None = None
    _changed_before_update: set[int] | None = None

    @property
    def is_released(self) -> bool:
        return self._changed_before_update is not None

    def release(self, changed: set[int]) -> None:
        """The optimizer goes on next: only what changed until now can have torn the copy."""
        if self._changed_before_update is None:
            self._changed_before_update = changed

    def torn(self) -> set[int]:
        """Weights that changed while they were, or may have been, copied."""
        changed = self.changed()
        # In this order: an update that begins between the two lines has called `release` before.
        if self._changed_before_update is not None:
            changed = self._changed_before_update
        return changed - self.copied_at_once
