"""What a cell came to, in the words of the table; kept line by line, so that an interrupted grid goes on."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.chaos.cells import Cell
from benchmarks.chaos.outcome import Outcome


@dataclass(frozen=True)
class Row:
    machine: str
    state: str
    fault: str
    way: str
    training: str
    checkpoints: str
    file_system: str
    last_verified_step: int | None
    broken: tuple[str, ...]
    struck: bool
    seconds: float

    @property
    def holds(self) -> bool:
        return not self.broken

    @property
    def mark(self) -> str:
        return "not reached" if not self.struck else "holds" if self.holds else "BROKEN: " + "; ".join(self.broken)


def row_of(cell: Cell, one: Outcome) -> Row:
    told = one.certificate
    return Row(
        machine=cell.machine,
        state=cell.state,
        fault=cell.fault,
        way=cell.way.why,
        training=told.verdict.training if told else one.error or one.status,
        checkpoints=told.verdict.durability if told else "-",
        file_system=_fate(one),
        last_verified_step=told.verdict.last_verified_step if told else None,
        broken=tuple(one.broken),
        struck=one.struck,
        seconds=round(one.seconds, 1),
    )


def _fate(one: Outcome) -> str:
    if one.standing:
        return "left behind"
    fate = one.certificate.file_system.fate if one.certificate else "never created"
    return f"kept, then {fate}" if one.kept else fate


def append(path: Path, row: Row) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as out:
        out.write(json.dumps(asdict(row)) + "\n")


def read(path: Path) -> list[Row]:
    if not path.exists():
        return []
    rows = (json.loads(line) for line in path.read_text().splitlines())
    return [Row(**{**row, "broken": tuple(row["broken"])}) for row in rows]


def in_order(rows: Iterable[Row], cells: Iterable[Cell]) -> list[Row]:
    """The newest of each cell, as the grid has them."""
    newest = {(row.machine, row.state, row.fault): row for row in rows}
    keys = ((cell.machine, cell.state, cell.fault) for cell in cells)
    return [newest[key] for key in keys if key in newest]
