"""How far the benchmark is: one line for each thing that it begins to measure."""

import time
from collections.abc import Callable

from rich.console import Console


class Progress:
    def __init__(self, console: Console, *, clock: Callable[[], float] = time.perf_counter) -> None:
        self.console = console
        self._clock = clock
        self._began = clock()
        self._begun = 0
        self.total = 0
        """How many there will be; known before the first begins."""

    @property
    def seconds(self) -> float:
        return self._clock() - self._began

    def next(self, what: str) -> None:
        self._begun += 1
        minutes, seconds = divmod(round(self.seconds), 60)
        self.console.print(
            f"[dim]{minutes:3d}:{seconds:02d}  {self._begun} of {self.total}  {what} ...[/]", highlight=False
        )
