"""Where a save goes: into the fast tier, or, where that has no room or is gone, past it."""

import shutil
from collections.abc import Callable

from stallfree.checkpoint.store import Store

_MARGIN = 1.05
_SMALL_FILES_BYTES = 16 * 1024 * 1024


class FirstWithRoom(Store):
    """One of two stores; which one is decided when a save begins, and holds until the next."""

    def __init__(
        self, fast: Store, slow: Store, *, needed_bytes: Callable[[], int], pass_on: Callable[[int, str], None]
    ):
        super().__init__(checkpoints=slow.checkpoints, staging=slow.staging)
        self._fast = fast
        self._slow = slow
        self._needed_bytes = needed_bytes
        self._pass_on = pass_on

    def choose(self, step: int) -> None:
        obstacle = self._obstacle()
        if obstacle:
            self._pass_on(step, obstacle)
        chosen = self._slow if obstacle else self._fast
        self.checkpoints, self.staging = chosen.checkpoints, chosen.staging

    def _obstacle(self) -> str | None:
        try:
            self._fast.checkpoints.mkdir(parents=True, exist_ok=True)
            self._fast.staging.mkdir(parents=True, exist_ok=True)
            free = shutil.disk_usage(self._fast.staging).free
        except OSError as error:
            return f"it cannot be used: {error}"
        needed = int(self._needed_bytes() * _MARGIN) + _SMALL_FILES_BYTES
        return None if needed <= free else f"it has {free} bytes of room, and {needed} may be needed"
