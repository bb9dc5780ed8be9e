"""stallfree's savers."""

from typing import Any

from stallfree.events import Event, Saved
from stallfree.saving.images import image
from stallfree.saving.overlapped import OverlappedSaver
from stallfree.saving.saver import MakeSaver, PlainSaver
from transformers import TrainerCallback

from stallfree import Stallfree
from tools.benchmarks.checkpoint.peers.way import Way


class Ours(Way):
    def __init__(self, make_saver: MakeSaver) -> None:
        super().__init__()
        self._make_saver = make_saver
        self.bytes = 0

    def callbacks(self) -> list[TrainerCallback]:
        return [Stallfree(make_saver=self._make_saver, sink=self._hear)]

    def _hear(self, event: Event) -> None:
        if isinstance(event, Saved):
            self.bytes = event.bytes
            self._mark_durable()


def overlapped() -> Ours:
    return Ours(OverlappedSaver)


def plain() -> Ours:
    return Ours(PlainSaver)


class WithoutEveryOtherChecksum(Ours):
    """Every other save computes no CRC64NVME: two kinds of saves in one training, so that both meet the same noise."""

    def __init__(self) -> None:
        super().__init__(OverlappedSaver)
        self._image: Any = image
        self._checksum = self._image.crc64nvme

    def before_save(self, number: int) -> None:
        self._image.crc64nvme = self._checksum if number % 2 else lambda block, previous=0: previous
