"""What a tier must offer: a folder does; a bucket or another host's memory could."""

from pathlib import Path
from typing import Protocol

from stallfree.checkpoint.manifest import Manifest


class TierStorage(Protocol):
    """Whole checkpoints by step. What cannot be reached or used raises OSError."""

    @property
    def name(self) -> str:
        """For events and messages."""

    def why_no_room(self, size_bytes: int) -> str | None:
        """Why it cannot take a checkpoint of this size now; None: it can."""

    def put(self, manifest: Manifest, source: Path) -> Manifest:
        """The checkpoint stands here, durable, when this returns.

        NotWhole if the files in the source folder are not those of the manifest; then nothing is left of it here.
        """

    def verify(self, step: int) -> Manifest:
        """NotWhole if a file is missing or has another size. Every byte is compared when it is put somewhere else."""

    def steps(self) -> list[int]:
        """The steps that stand here, oldest first."""

    def remove(self, step: int) -> None: ...
