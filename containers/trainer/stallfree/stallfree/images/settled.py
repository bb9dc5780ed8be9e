"""How much of a file, from its beginning on, is what it is to be."""

import threading


class Settled:
    """One thread settles a file's bytes in their order; others write those that are, and need not wait for the rest."""

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
