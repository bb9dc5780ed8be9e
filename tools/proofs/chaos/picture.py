"""The grid as one SVG: a row for each state, a square for each fault. It follows the reader's light or dark."""

from collections.abc import Sequence
from html import escape
from itertools import groupby

from tools.proofs.chaos.cells import TRAINING
from tools.proofs.chaos.record import Row

_SQUARE, _GAP, _LEFT, _TOP, _LINE = 16, 4, 330, 96, 20
_COLUMNS = (
    "StopExecution",
    "throttled once",
    "times out each time",
    "fails for good",
    "reply lost once",
    "each reply lost",
)
_STYLE = """
  text { font: 12px system-ui, sans-serif; fill: #24292f; }
  .head { font-weight: 600; }
  .verified { fill: #1a7f37; } .empty { fill: #8ec99b; } .refused { fill: #b6bec7; } .kept { fill: #bf8700; }
  .broken { fill: #cf222e; } .unreached { fill: none; stroke: #8c959f; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; } .verified { fill: #3fb950; } .empty { fill: #23663a; } .refused { fill: #6e7681; }
    .kept { fill: #d29922; } .broken { fill: #f85149; } .unreached { stroke: #6e7681; }
  }
"""
_LEGEND = (
    ("verified", "checkpoints verified, file system gone"),
    ("empty", "nothing had been saved, file system gone"),
    ("kept", "kept while the fault lasted, then verified and gone"),
    ("refused", "the job was not accepted"),
    ("unreached", "not reached"),
    ("broken", "a promise is broken"),
)


def picture(rows: Sequence[Row]) -> str:
    parts, y = [], _TOP
    # Faults of training have no columns, so they stand below the states that have.
    below = sorted(rows, key=lambda row: row.machine == TRAINING)
    for machine, of_machine in groupby(below, key=lambda row: row.machine):
        y += _LINE
        parts.append(f'<text class="head" x="8" y="{y + 12}">{escape(machine[0].upper() + machine[1:])}</text>')
        for state, of_state in groupby(of_machine, key=_name):
            y += _LINE
            parts.append(f'<text x="{_LEFT - 12}" y="{y + 12}" text-anchor="end">{escape(state)}</text>')
            parts += _squares(list(of_state), y)
    for index, column in enumerate(_COLUMNS):
        x = _x(index) + 12
        parts.append(f'<text transform="translate({x} {_TOP + _LINE + 8}) rotate(-50)">{escape(column)}</text>')
    y += 2 * _LINE
    for index, (kind, words) in enumerate(_LEGEND):
        x, line = 8 + (index % 2) * 350, y + (index // 2) * _LINE
        parts.append(f'<rect class="{kind}" x="{x}" y="{line}" width="{_SQUARE}" height="{_SQUARE}" rx="3"/>')
        parts.append(f'<text x="{x + 24}" y="{line + 12}">{escape(words)}</text>')
    size = f'viewBox="0 0 720 {y + 4 * _LINE}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img"><style>{_STYLE}</style>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def kind_of(row: Row) -> str:
    if not row.injected:
        return "unreached"
    if not row.holds:
        return "broken"
    if row.file_system.startswith("kept"):
        return "kept"
    return {"Verified": "verified", "NothingSaved": "empty"}.get(row.checkpoints, "refused")


def _name(row: Row) -> str:
    """A fault of training has no state and no column: each is a row."""
    return row.fault if row.machine == TRAINING else row.state


def _squares(rows: list[Row], y: int) -> list[str]:
    """The common faults in columns, the rest behind them."""
    rest = 0 if rows[0].machine == TRAINING else len(_COLUMNS)
    parts = []
    for row in rows:
        if row.machine != TRAINING and row.fault in _COLUMNS:
            x = _x(_COLUMNS.index(row.fault))
        else:
            x, rest = _x(rest), rest + 1
        title = escape(f"{row.fault}: {row.training}, {row.checkpoints}, {row.file_system}. {row.mark}")
        parts.append(
            f'<rect class="{kind_of(row)}" x="{x}" y="{y}" width="{_SQUARE}" height="{_SQUARE}" rx="3">'
            f"<title>{title}</title></rect>"
        )
    return parts


def _x(index: int) -> int:
    return _LEFT + index * (_SQUARE + _GAP)
