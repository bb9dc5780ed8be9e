"""Figures of a benchmark or proof: printed as a table, and written as JSON to compare later."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType

from rich.console import Console
from rich.table import Table

FOLDER = Path(__file__).parents[1] / "build" / "figures"


@dataclass(frozen=True)
class Figure:
    """One measured value; `bar` is its requirement in words, and `holds` whether it is met.

    With a bar, None means that it could not be measured; the remark says why.
    """

    name: str
    value: float
    unit: str
    bar: str = ""
    holds: bool | None = None
    remark: str = ""


def publish(
    console: Console, name: str, figures: Sequence[Figure], about: Mapping[str, str] = MappingProxyType({})
) -> None:
    """`about`: the conditions of the measurement."""
    table = Table("figure", "value", "unit", "bar", "holds", "remark", title=name, title_justify="left")
    for one in figures:
        holds = {True: "yes", False: "[red]no[/]", None: "[yellow]?[/]" if one.bar else ""}[one.holds]
        table.add_row(one.name, f"{one.value:,.6g}", one.unit, one.bar, holds, one.remark)
    console.print(table)
    write(name, figures, about)
    console.print(f"[dim]wrote build/figures/{name}.json[/]")


def write(name: str, figures: Sequence[Figure], about: Mapping[str, str] = MappingProxyType({})) -> None:
    """Without a table; a long benchmark calls it for each new figure."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{name}.json"
    path.write_text(json.dumps({"about": dict(about), "figures": [asdict(one) for one in figures]}, indent=1) + "\n")
