"""Finding the checkpoint to resume from. What is not whole is named and passed over, never trusted, never fatal."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from stallfree.checkpoint import manifest
from stallfree.checkpoint.store import step_of


@dataclass(frozen=True)
class PassedOver:
    path: Path
    reason: str


@dataclass(frozen=True)
class Whole:
    path: Path
    step: int


@dataclass(frozen=True)
class Search:
    found: Whole | None
    passed_over: list[PassedOver] = field(default_factory=list)


def newest_whole(*folders: Path) -> Search:
    """The whole checkpoint with the highest step in any of the folders; of equals, the one in the first folder."""
    passed_over: list[PassedOver] = []
    for step, path in _newest_first(folders):
        try:
            manifest.verify(path)
        except manifest.NotWhole as fault:
            passed_over.append(PassedOver(path, str(fault)))
        else:
            return Search(Whole(path, step), passed_over)
    return Search(None, passed_over)


def _newest_first(folders: Iterable[Path]) -> list[tuple[int, Path]]:
    candidates = [
        (step, path)
        for folder in folders
        if folder.is_dir()
        for path in folder.iterdir()
        if (step := step_of(path)) is not None
    ]
    # The sort is stable, so of two equal steps the earlier folder's stays first.
    return sorted(candidates, key=lambda candidate: -candidate[0])
