"""What is remembered of a training's saves: for the table at its end, and to know what the next one will take."""

from stallfree.events import Event, Interfered, Saved, Sink
from stallfree.table import table_of

_LAST_FEW = 5


class Record:
    """A sink that remembers, and passes everything on. Savers speak to it from threads of their own."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self.saves: list[Saved] = []
        self.interference_seconds: dict[int, float] = {}

    def __call__(self, event: Event) -> None:
        if isinstance(event, Saved):
            self.saves.append(event)
        elif isinstance(event, Interfered):
            self.interference_seconds[event.step] = event.seconds
        self._sink(event)

    def newest_step(self) -> int | None:
        """The newest step that was made durable in this training."""
        return max((save.step for save in list(self.saves)), default=None)

    def slowest_seconds(self) -> float | None:
        """To durable, of the last few saves."""
        return max((save.durable_seconds for save in self.saves[-_LAST_FEW:]), default=None)

    def table(self) -> str:
        return table_of(self.saves, self.interference_seconds)
