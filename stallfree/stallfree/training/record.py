"""What is remembered of a training's saves: for the table at its end, and to know what the next one will take."""

import statistics
from collections.abc import Mapping, Sequence

from stallfree.events import Event, Interfered, Saved, Sink

_LAST_FEW = 5
_SHOWN = 10
_COLUMNS = (
    "step",
    "stall s",
    "copy s",
    "write s",
    "fsync s",
    "commit s",
    "durable s",
    "GB",
    "GB/s",
    "steps slower by s",
)


class Record:
    """A sink that remembers, and passes everything on. Savers send it events from threads of their own."""

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


def table_of(saves: Sequence[Saved], interference_seconds: Mapping[int, float]) -> str:
    """The newest saves, and the medians of all. What was not measured is a dash."""
    numbers = [_numbers(save, interference_seconds.get(save.step)) for save in saves]
    rows: list[tuple[str, ...]] = [_COLUMNS]
    rows += [(str(save.step), *map(_shown, row)) for save, row in list(zip(saves, numbers, strict=True))[-_SHOWN:]]
    rows.append(("median", *map(_shown, map(_median, zip(*numbers, strict=True)))))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    if len(saves) > _SHOWN:
        lines.insert(1, f"... {len(saves) - _SHOWN} earlier ones")
    return "\n".join(lines)


def _numbers(save: Saved, interference_seconds: float | None) -> tuple[float | None, ...]:
    return (
        save.stall_seconds,
        save.copy_seconds,
        save.write_seconds,
        save.fsync_seconds,
        save.commit_seconds,
        save.durable_seconds,
        save.bytes / 1e9,
        save.gb_per_second,
        interference_seconds,
    )


def _median(column: Sequence[float | None]) -> float | None:
    known = [number for number in column if number is not None]
    return statistics.median(known) if known else None


def _shown(number: float | None) -> str:
    return "-" if number is None else f"{number:.3f}"
