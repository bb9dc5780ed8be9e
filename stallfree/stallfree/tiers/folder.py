"""A folder as a tier: what is put there is written by the same commit as a save."""

import shutil
from pathlib import Path

from awscrt.checksums import crc64nvme

from stallfree.checkpoint import manifest
from stallfree.checkpoint.store import Store

_BLOCK_BYTES = 8 * 1024 * 1024


class FolderTier:
    """A TierStorage on a file system of this machine: a tmpfs, a local disk, or a mount."""

    def __init__(self, store: Store) -> None:
        self.store = store

    @property
    def name(self) -> str:
        return str(self.store.checkpoints)

    def why_no_room(self, size_bytes: int) -> str | None:
        try:
            self.store.checkpoints.mkdir(parents=True, exist_ok=True)
            self.store.staging.mkdir(parents=True, exist_ok=True)
            free = shutil.disk_usage(self.store.staging).free
        except OSError as error:
            return f"it cannot be used: {error}"
        return None if size_bytes <= free else f"it has {free} bytes of room, and {size_bytes} may be needed"

    def put(self, whole: manifest.Manifest, source: Path) -> manifest.Manifest:
        staged = self.store.stage(whole.step)
        try:
            for file in whole.files:
                (staged / file.path).parent.mkdir(parents=True, exist_ok=True)
                manifest.compare(file, _copy(source / file.path, staged / file.path))
            # Described by what was saved, not by what stands here now: damage on the way would show.
            return self.store.commit(whole.step, whole.files)
        except BaseException:
            self.store.discard(whole.step)
            raise

    def verify(self, step: int) -> manifest.Manifest:
        return manifest.complete(self.path(step))

    def steps(self) -> list[int]:
        return self.store.steps()

    def remove(self, step: int) -> None:
        self.store.remove(step)

    def path(self, step: int) -> Path:
        return self.store.path(step)


def _copy(source: Path, target: Path) -> str:
    """The checksum of what was copied. In blocks, which leave other threads to run meanwhile."""
    checksum = 0
    with source.open("rb", buffering=0) as original, target.open("wb", buffering=0) as copy:
        while block := original.read(_BLOCK_BYTES):
            checksum = crc64nvme(block, checksum)
            left = memoryview(block)
            while left:
                left = left[copy.write(left) or 0 :]
    return manifest.as_s3_reports(checksum)
