"""`make recording`: runs `make demo` in a terminal, and writes what it showed into README and docs/pictures/demo.svg.

The picture shows the last screen, then plays the run, faster than it was; without animation it is that screen.
"""

import codecs
import fcntl
import os
import pty
import struct
import sys
import termios
import time
from html import escape

from tests.support.screen import Row, Screen, Style
from tests.support.synth import REPOSITORY

PICTURE = REPOSITORY / "docs" / "pictures" / "demo.svg"
README = REPOSITORY / "README.md"
COMMAND = ["make", "demo"]
_COLUMNS, _ROWS = 104, 46
_ADVANCE, _LINE, _MARGIN, _BAR = 7.8, 17, 18, 34
# So long it plays, and so long it rests before that.
_PLAYS_SECONDS, _RESTS_SECONDS = 24.0, 12.0
_COLOURS = {31: "#f58b82", 32: "#4cc795", 33: "#e6b455", 34: "#7cabf5", 35: "#c39af0", 36: "#63c3dd", 37: "#d7dce2"}


def record() -> tuple[list[Row], int]:
    """Its rows, and its exit code."""
    screen, begin = Screen(), time.monotonic()
    screen.write(f"\x1b[1m$ {' '.join(COMMAND)}\x1b[0m\r\n", 0.0)
    process, terminal = pty.fork()
    if process == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))
        os.execvpe(COMMAND[0], COMMAND, os.environ | {"TERM": "xterm"})
    decoder = codecs.getincrementaldecoder("utf-8")()
    while said := _read(terminal):
        sys.stdout.buffer.write(said)
        sys.stdout.buffer.flush()
        screen.write(decoder.decode(said), time.monotonic() - begin)
    return screen.rows, os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""  # So Linux says that the other end is closed.


def picture(rows: list[Row]) -> str:
    width = round(2 * _MARGIN + _COLUMNS * _ADVANCE)
    height = _BAR + _ROWS * _LINE + _MARGIN
    lines = "".join(_line(number, row) for number, row in enumerate(rows))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        ' role="img" aria-label="make demo, as a terminal showed it">\n'
        "<style>\ntext { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace;"
        " fill: #d7dce2; white-space: pre; }\n.b { font-weight: 700; } .d { opacity: .62; }\n"
        + "".join(f".c{code} {{ fill: {colour}; }} " for code, colour in _COLOURS.items())
        + f"\n{_playing(rows)}\n</style>\n"
        f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="10" fill="#11151a" stroke="#30373f"/>\n'
        '<circle cx="20" cy="18" r="5.5" fill="#f0655b"/><circle cx="38" cy="18" r="5.5" fill="#e9b949"/>'
        '<circle cx="56" cy="18" r="5.5" fill="#4cc795"/>'
        f'<text class="d" x="{width / 2:.0f}" y="22" text-anchor="middle">{" ".join(COMMAND)}</text>\n'
        f'<svg x="{_MARGIN}" y="{_BAR}" width="{width - 2 * _MARGIN}" height="{_ROWS * _LINE}">'
        f'<g class="rows">\n{lines}</g><rect class="cover" width="100%" height="100%" fill="#11151a"/></svg>\n</svg>\n'
    )


def _line(number: int, row: Row) -> str:
    y = (number + 1) * _LINE - 4
    return "".join(
        f'<text{_class(style)} x="{column * _ADVANCE:.1f}" y="{y}" textLength="{len(text) * _ADVANCE:.1f}">'
        f"{escape(text)}</text>\n"
        for column, text, style in row.pieces
    )


def _class(style: Style) -> str:
    colour = style.colour if style.colour is None or style.colour < 90 else style.colour - 60
    names = ["b"] * style.bold + ["d"] * style.dim + ([f"c{colour}"] if colour else [])
    return f' class="{" ".join(names)}"' if names else ""


def _playing(rows: list[Row]) -> str:
    """First the last screen, then line by line: a cover sinks until the screen is full, then the rows move up."""
    wall, whole = rows[-1].seconds or 1.0, _RESTS_SECONDS + _PLAYS_SECONDS
    steps, latest = {"0%": len(rows)}, 0.0
    for shown, row in enumerate(rows, start=1):
        latest = max(latest, row.seconds)
        steps[f"{(_RESTS_SECONDS + latest / wall * _PLAYS_SECONDS) / whole:.2%}"] = shown
    steps["100%"] = len(rows)
    return (
        _moving("cover", {at: min(shown, _ROWS) for at, shown in steps.items()}, whole)
        + _moving("rows", {at: min(0, _ROWS - shown) for at, shown in steps.items()}, whole)
        + "@media (prefers-reduced-motion: reduce) { .rows, .cover { animation: none; } }"
    )


def _moving(name: str, lines: dict[str, int], seconds: float) -> str:
    """So many lines down at each moment."""
    places = {at: f"transform: translateY({down * _LINE}px);" for at, down in lines.items()}
    frames = " ".join(f"{at} {{ {place} }}" for at, place in places.items())
    return (
        f"@keyframes {name} {{ {frames} }}\n"
        f".{name} {{ {places['100%']} animation: {name} {seconds:g}s step-end infinite; }}\n"
    )


def with_text(readme: str, rows: list[Row]) -> str:
    before, rest = readme.split("<!-- demo -->\n")
    _, after = rest.split("<!-- /demo -->")
    said = "\n".join(row.text for row in rows)
    return f"{before}<!-- demo -->\n```console\n{said}\n```\n<!-- /demo -->{after}"


def main() -> None:
    rows, code = record()
    if code:
        raise SystemExit(f"{' '.join(COMMAND)} ended with {code}: nothing is written")
    while rows and not rows[-1].text:
        rows.pop()
    PICTURE.write_text(picture(rows))
    README.write_text(with_text(README.read_text(), rows))
    print(f"wrote {PICTURE.relative_to(REPOSITORY)} ({PICTURE.stat().st_size / 1000:.0f} kB) and README.md")


if __name__ == "__main__":
    main()
