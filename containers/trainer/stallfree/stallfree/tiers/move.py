"""Bringing one whole checkpoint from one store to another, by the same commit as a save."""

from pathlib import Path

from awscrt.checksums import crc64nvme

from stallfree.checkpoint import manifest
from stallfree.checkpoint.store import Store

_BLOCK_BYTES = 8 * 1024 * 1024


def move(step: int, source: Store, target: Store) -> manifest.Manifest:
    """It stands in the target, durable, when this returns. NotWhole if the source's is not what was saved."""
    whole = manifest.complete(source.path(step))
    staged = target.stage(step)
    try:
        for file in whole.files:
            (staged / file.path).parent.mkdir(parents=True, exist_ok=True)
            manifest.compare(file, _copy(source.path(step) / file.path, staged / file.path))
        # Described by what was saved, not by what stands here now: damage on the way would show.
        return target.commit(step, whole.files)
    except BaseException:
        target.discard(step)
        raise


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
