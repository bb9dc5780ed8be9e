"""Where a save goes: into the fast tier, or, where that has no room or is gone, directly into the slow one."""

from collections.abc import Callable

from stallfree.checkpoint.store import Store
from stallfree.tiers.folder import FolderTier

_MARGIN = 1.05
_SMALL_FILES_BYTES = 16 * 1024 * 1024


class FirstWithRoom(Store):
    """One of two stores; which one is decided when a save begins, and holds until the next."""

    def __init__(
        self,
        fast: FolderTier,
        slow: FolderTier,
        *,
        needed_bytes: Callable[[], int],
        left_out: Callable[[int, str], None],
    ) -> None:
        super().__init__(checkpoints=slow.store.checkpoints, staging=slow.store.staging)
        self._fast = fast
        self._slow = slow
        self._needed_bytes = needed_bytes
        self._left_out = left_out

    def choose(self, step: int) -> None:
        obstacle = self._fast.why_no_room(int(self._needed_bytes() * _MARGIN) + _SMALL_FILES_BYTES)
        if obstacle:
            self._left_out(step, obstacle)
        chosen = self._slow.store if obstacle else self._fast.store
        self.checkpoints, self.staging = chosen.checkpoints, chosen.staging
