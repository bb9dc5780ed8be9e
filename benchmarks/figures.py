"""A benchmark's outcome: a table for people, and the same figures as JSON for whoever compares them later."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

FOLDER = Path(__file__).parent.parent / "build" / "figures"


@dataclass(frozen=True)
class Figure:
    """One measured value; `bar` says in words what it is held to, and `holds` whether it is met."""

    name: str
    value: float
    unit: str
    bar: str = ""
    holds: bool | None = None


def publish(console: Console, name: str, figures: Sequence[Figure]) -> None:
    table = Table("figure", "value", "unit", "bar", "holds", title=name, title_justify="left")
    for one in figures:
        holds = "" if one.holds is None else "yes" if one.holds else "[red]no[/]"
        table.add_row(one.name, f"{one.value:,.6g}", one.unit, one.bar, holds)
    console.print(table)
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{name}.json"
    path.write_text(json.dumps([asdict(one) for one in figures], indent=1) + "\n")
    console.print(f"[dim]wrote build/figures/{path.name}[/]")
