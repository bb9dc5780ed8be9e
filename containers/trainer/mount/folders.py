"""The run's folders on the mount, and whose they are."""

import os
from dataclasses import dataclass
from pathlib import Path

from belay.contract.paths import (
    DATA_LINK,
    EXPORTED_CHECKPOINTS,
    EXPORTED_EVENTS,
    RESUME_LINK,
    RUN_LINK,
    checkpoint_step,
)


@dataclass(frozen=True)
class Folders:
    root: Path

    @property
    def plan(self) -> Path:
        return self._of(RUN_LINK) / "run.json"

    @property
    def checkpoints(self) -> Path:
        return self._of(EXPORTED_CHECKPOINTS)

    @property
    def staging(self) -> Path:
        return self._of(RUN_LINK) / "staging"

    @property
    def events(self) -> Path:
        return self._of(EXPORTED_EVENTS) / "trainer.jsonl"

    @property
    def data(self) -> Path:
        return self._of(DATA_LINK)

    @property
    def resume(self) -> Path:
        return self._of(RESUME_LINK)

    def prepare(self, owner: int) -> None:
        """Make what the run writes to, and give it to whom training runs as."""
        for folder in (self.checkpoints, self.staging, self.events.parent):
            folder.mkdir(parents=True, exist_ok=True)
        self.events.touch()
        for path in (self.root, self.checkpoints, self.staging, self.events.parent, self.events):
            give(path, owner)

    def newest_step(self) -> int:
        """The newest checkpoint by name; 0 before the first."""
        return max((checkpoint_step(folder.name) or 0 for folder in self.checkpoints.iterdir()), default=0)

    def _of(self, path: str) -> Path:
        return self.root / path.strip("/")


def give(path: Path, owner: int) -> None:
    # Asked for only where it changes something: a normal user may run all this for themselves.
    if path.stat().st_uid != owner:
        os.chown(path, owner, owner)
