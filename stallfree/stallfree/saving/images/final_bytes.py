"""How many bytes of a file, from its beginning, are final."""

import threading


class FinalBytes:
    """One thread completes a file's bytes in order; others write those that are final, without waiting for the rest."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._end = 0

    def reach(self, end: int) -> None:
        with self._changed:
            self._end = end
            self._changed.notify_all()

    def wait_for(self, end: int) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._end >= end)
