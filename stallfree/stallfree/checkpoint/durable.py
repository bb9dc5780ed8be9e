"""Making what was written survive a power cut."""

import os
from pathlib import Path

from stallfree.checkpoint.timing import phase


def flush(path: Path) -> None:
    """fsync one file or folder; for a folder that makes the names in it durable."""
    handle = os.open(path, os.O_RDONLY)
    try:
        with phase("fsync"):
            os.fsync(handle)
    finally:
        os.close(handle)


def flush_tree(folder: Path) -> None:
    """fsync everything under a folder, then the folder itself."""
    for parent, _, files in os.walk(folder, topdown=False):
        for name in files:
            flush(Path(parent, name))
        flush(Path(parent))
