"""The commit protocol. In `checkpoints` only whole checkpoints ever stand; everything unfinished is in `staging`."""

import logging
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from stallfree.checkpoint import manifest
from stallfree.checkpoint.durable import flush, flush_tree
from stallfree.checkpoint.exchange import exchange
from stallfree.checkpoint.timing import phase

logger = logging.getLogger(__name__)

_CHECKPOINT = re.compile(r"checkpoint-(0|[1-9][0-9]*)")
_REPLACED = re.compile(r"replaced-(0|[1-9][0-9]*)")


def step_of(folder: Path) -> int | None:
    """checkpoint-40 -> 40; anything else -> None."""
    match = _CHECKPOINT.fullmatch(folder.name)
    return int(match[1]) if match else None


class Store:
    """Two folders of one file system, so that a rename between them is a single step."""

    def __init__(self, *, checkpoints: Path, staging: Path) -> None:
        # A script may go to another folder while it trains.
        self.checkpoints = checkpoints.absolute()
        self.staging = staging.absolute()

    def open(self) -> None:
        """Delete what a killed training left unfinished. Only one process may do this, before any save."""
        self.checkpoints.mkdir(parents=True, exist_ok=True)
        self.staging.mkdir(parents=True, exist_ok=True)
        if self.checkpoints.stat().st_dev != self.staging.stat().st_dev:
            raise ValueError(
                f"{self.staging} is to be on the same file system as {self.checkpoints}, or no save can end."
            )
        for leftover in self.staging.iterdir():
            match = _REPLACED.fullmatch(leftover.name)
            if match and not (self.checkpoints / f"checkpoint-{match[1]}").exists():
                # Killed between the two renames of a re-save: the older one is still the one that counts.
                leftover.rename(self.checkpoints / f"checkpoint-{match[1]}")
                flush(self.checkpoints)
            else:
                _delete(leftover)

    def choose(self, step: int) -> None:
        """Where there are several places for checkpoints: decide now for one of them, until this is called again."""

    def stage(self, step: int) -> Path:
        """An empty folder to write a checkpoint into."""
        # It may have been deleted. If the folder of checkpoints is gone too, the save fails.
        self.staging.mkdir(exist_ok=True)
        folder = self.staging / f"checkpoint-{step}"
        if folder.exists():
            _delete(folder)
        folder.mkdir()
        return folder

    @phase("commit")
    def commit(self, step: int, described: Sequence[manifest.File] = ()) -> manifest.Manifest:
        """Turn what was staged into the checkpoint of its step. It is durable when this returns."""
        staged, final = self.staging / f"checkpoint-{step}", self.checkpoints / f"checkpoint-{step}"
        flush_tree(staged)
        # Manifest last: a reader that finds it finds everything it lists.
        written = manifest.write(staged, step, described)
        flush(staged)
        if final.exists():
            self._replace(staged, final, step)
        else:
            staged.rename(final)
        flush(self.checkpoints)
        flush(self.staging)
        return written

    def discard(self, step: int) -> None:
        """Delete what a failed save wrote. If that fails too, the next save of the step does it."""
        with _warning_if_it_fails(f"What was written of step {step} could not be removed"):
            _delete(self.staging / f"checkpoint-{step}")

    def remove(self, step: int) -> None:
        """Delete a checkpoint. If that fails it only takes room: that is no reason to end training."""
        removed = self.staging / f"removed-{step}"
        with _warning_if_it_fails(f"{self.path(step)} could not be removed"):
            # Renamed away first: a reader never sees half of a checkpoint.
            self.path(step).rename(removed)
            flush(self.checkpoints)
            _delete(removed)

    def path(self, step: int) -> Path:
        return self.checkpoints / f"checkpoint-{step}"

    def steps(self) -> list[int]:
        """The steps that stand here, oldest first, by name alone."""
        return sorted(step for folder in self.checkpoints.iterdir() if (step := step_of(folder)) is not None)

    def _replace(self, staged: Path, final: Path, step: int) -> None:
        if exchange(staged, final):
            flush(self.checkpoints)
            _delete(staged)
            return
        # Lustre has no exchange. `open` puts the older one back if we are killed before the second rename.
        replaced = self.staging / f"replaced-{step}"
        final.rename(replaced)
        staged.rename(final)
        flush(self.checkpoints)
        _delete(replaced)


@contextmanager
def _warning_if_it_fails(what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        logger.warning("%s: %s.", what, error)


def _delete(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
