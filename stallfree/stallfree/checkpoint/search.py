"""Finding the checkpoint to resume from. What is not whole is rejected with a reason, and an older one is tried."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from stallfree.checkpoint import manifest
from stallfree.checkpoint.store import step_of

Found = TypeVar("Found")


@dataclass(frozen=True)
class Rejected:
    path: Path
    reason: str


@dataclass(frozen=True)
class Whole(Generic[Found]):
    path: Path
    step: int
    content: Found


@dataclass(frozen=True)
class Search(Generic[Found]):
    found: Whole[Found] | None
    rejected: list[Rejected] = field(default_factory=list)


def newest_whole(*folders: Path) -> Search[manifest.Manifest]:
    """The whole checkpoint with the highest step in any of the folders; of equals, the one in the first folder."""
    return first_whole(newest_first(*folders), manifest.verify)


def first_whole(candidates: Sequence[tuple[int, Path]], read: Callable[[Path], Found]) -> Search[Found]:
    """The first that can be read without a `NotWhole`."""
    rejected: list[Rejected] = []
    for step, path in candidates:
        try:
            content = read(path)
        except manifest.NotWhole as fault:
            rejected.append(Rejected(path, str(fault)))
        else:
            return Search(Whole(path, step, content), rejected)
    return Search(None, rejected)


def newest_first(*folders: Path) -> list[tuple[int, Path]]:
    candidates = [
        (step, path)
        for folder in folders
        if folder.is_dir()
        for path in folder.iterdir()
        if (step := step_of(path)) is not None
    ]
    # The sort is stable, so of two equal steps the earlier folder's stays first.
    return sorted(candidates, key=lambda candidate: -candidate[0])
