"""One save on its way from the live tensors to the disk."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field

from stallfree.checkpoint.manifest import File
from stallfree.images.image import Image
from stallfree.saving.moment import Moment


@dataclass(frozen=True)
class Part:
    """What one process wrote of a checkpoint, for the one that commits it."""

    files: list[File]
    spoiled: list[str]


@dataclass
class Flight:
    step: int
    began: float
    moved: Callable[[], set[int]]
    """Places of the weights that have changed since the save, until the optimizer changes them all."""
    protected: set[int] = field(default_factory=set)
    """Steps that rotation leaves alone."""
    moment: Moment = field(default_factory=Moment)
    taken: set[int] = field(default_factory=set)
    """Places of the weights that were copied before training went on."""
    fault: Exception | None = None
    """What went wrong before the flight began."""
    slot: int = 0
    """Which of the ground's memories it copies to."""
    images: list[Image] = field(default_factory=list)
    """What is copied before it is written: a snapshot, or all of a save by DeepSpeed."""
    written: list[File] = field(default_factory=list)
    """What was written while it was copied."""
    stall_seconds: float = 0.0
    is_waited_for: bool = False
    """Training stands still until it has landed."""
    copied: threading.Event = field(default_factory=threading.Event)
    landed: Future[None] | None = None
    _moved_before_update: set[int] | None = None

    @property
    def is_released(self) -> bool:
        return self._moved_before_update is not None

    def release(self, moved: set[int]) -> None:
        """The optimizer goes on next: what moved until now is what can have spoiled the copy."""
        if self._moved_before_update is None:
            self._moved_before_update = moved

    def spoiled(self) -> set[int]:
        """Weights that changed while they were, or may have been, copied."""
        moved = self.moved()
        # In this order: an update that begins between the two lines has released the flight before it.
        if self._moved_before_update is not None:
            moved = self._moved_before_update
        return moved - self.taken
