"""The saves of a training as a small table of plain text."""

import statistics
from collections.abc import Mapping, Sequence

from stallfree.events import Saved

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
