"""The outcome of a cell as a row of the table; written line by line, so that an interrupted grid can go on."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from tools.proofs.chaos.cells import Cell
from tools.proofs.chaos.outcome import Outcome


@dataclass(frozen=True)
class Row:
    machine: str
    state: str
    fault: str
    setup: str
    training: str
    checkpoints: str
    file_system: str
    last_verified_step: int | None
    broken: tuple[str, ...]
    injected: bool
    seconds: float

    @property
    def holds(self) -> bool:
        return not self.broken

    @property
    def mark(self) -> str:
        return "not reached" if not self.injected else "holds" if self.holds else "BROKEN: " + "; ".join(self.broken)


def row_of(cell: Cell, one: Outcome) -> Row:
    certificate = one.certificate
    return Row(
        machine=cell.machine,
        state=cell.state,
        fault=cell.fault,
        setup=cell.setup.why,
        training=certificate.verdict.training if certificate else one.error or one.status,
        checkpoints=certificate.verdict.durability if certificate else "-",
        file_system=_file_system(one),
        last_verified_step=certificate.verdict.last_verified_step if certificate else None,
        broken=tuple(one.broken),
        injected=one.injected,
        seconds=round(one.seconds, 1),
    )


def _file_system(one: Outcome) -> str:
    if one.file_systems:
        return "left behind"
    outcome = one.certificate.file_system.fate if one.certificate else "never created"
    return f"kept, then {outcome}" if one.kept else outcome


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
    """The newest row of each cell, in the order of the grid."""
    newest = {(row.machine, row.state, row.fault): row for row in rows}
    keys = ((cell.machine, cell.state, cell.fault) for cell in cells)
    return [newest[key] for key in keys if key in newest]
