"""What a command prints: for people with rich, for programs as one JSON document on stdout."""

import json
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

_WIDTH_OF_A_LOG = 120


def console(*, error: bool = False) -> Console:
    stream = sys.stderr if error else sys.stdout
    return Console(stderr=error, highlight=False, width=None if stream.isatty() else _WIDTH_OF_A_LOG)


def print_json(document: Any) -> None:
    # Flushed here, where an error can still be handled: the reader may have gone, as 'head' does.
    print(json.dumps(document, indent=2, default=_plain), flush=True)


def line(text: str) -> None:
    """Unchanged: a command to type next is not broken into lines, however narrow the screen is."""
    console().print(text, markup=False, soft_wrap=True)


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], *, left: Sequence[str] = ()) -> Table:
    """Numbers are aligned right; the columns in `left` are text. Without any name of a column there is no head."""
    heads = any(column.strip() for column in columns)
    made = Table(
        title=title or None, title_justify="left", title_style="bold", box=None, pad_edge=False, show_header=heads
    )
    for column in columns:
        made.add_column(column, justify="left" if column in left else "right", header_style="dim", overflow="fold")
    for row in rows:
        made.add_row(*("" if cell is None else escape(str(cell)) for cell in row))
    return made


def ago(moment: datetime, now: datetime | None = None) -> str:
    return f"{duration((now or datetime.now(UTC)) - moment)} ago"


def duration(span: Any) -> str:
    """90061 s -> '1d 1h'."""
    seconds = max(0, int(span.total_seconds()))
    for unit, size, smaller, small in (("d", 86400, "h", 3600), ("h", 3600, "m", 60), ("m", 60, "s", 1)):
        if seconds >= size:
            rest = seconds % size // small
            return f"{seconds // size}{unit}" + (f" {rest}{smaller}" if rest else "")
    return f"{seconds}s"


def usd(amount: float | None) -> str:
    return "unknown" if amount is None else f"{amount:,.2f} USD"


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    raise TypeError(f"{type(value).__name__} is not for JSON")
