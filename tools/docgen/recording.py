"""`make recording`: runs `make demo` in a terminal, and writes its output to README and docs/pictures/demo.svg.

The picture shows the last screen, then replays the run at a higher speed; without animation it is the last screen.
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

from tools.console import without_options
from tools.docgen.screen import Row, Screen, Style
from tools.repository import REPOSITORY

PICTURE = REPOSITORY / "docs" / "pictures" / "demo.svg"
README = REPOSITORY / "README.md"
COMMAND = ["make", "demo"]
_COLUMNS, _ROWS = 104, 46
_ADVANCE, _LINE, _MARGIN, _BAR = 7.8, 17, 18, 34
_REPLAY_SECONDS, _STILL_SECONDS = 24.0, 12.0
_COLOURS = {31: "#f58b82", 32: "#4cc795", 33: "#e6b455", 34: "#7cabf5", 35: "#c39af0", 36: "#63c3dd", 37: "#d7dce2"}


def record() -> tuple[list[Row], int]:
    """The rows that were shown, and the exit code."""
    screen, begin = Screen(), time.monotonic()
    screen.write(f"\x1b[1m$ {' '.join(COMMAND)}\x1b[0m\r\n", 0.0)
    process, terminal = pty.fork()
    if process == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))
        os.execvpe(COMMAND[0], COMMAND, os.environ | {"TERM": "xterm"})
    decoder = codecs.getincrementaldecoder("utf-8")()
    while output := _read(terminal):
        sys.stdout.buffer.write(output)
        sys.stdout.buffer.flush()
        screen.write(decoder.decode(output), time.monotonic() - begin)
    return screen.rows, os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""  # Linux reports the closed other end in this way.


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
        + f"\n{_animation(rows)}\n</style>\n"
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


def _animation(rows: list[Row]) -> str:
    """The last screen, then line by line: a cover moves down until the screen is full, then the rows move up."""
    wall, whole = rows[-1].seconds or 1.0, _STILL_SECONDS + _REPLAY_SECONDS
    steps, latest = {"0%": len(rows)}, 0.0
    for shown, row in enumerate(rows, start=1):
        latest = max(latest, row.seconds)
        steps[f"{(_STILL_SECONDS + latest / wall * _REPLAY_SECONDS) / whole:.2%}"] = shown
    steps["100%"] = len(rows)
    return (
        _keyframes("cover", {at: min(shown, _ROWS) for at, shown in steps.items()}, whole)
        + _keyframes("rows", {at: min(0, _ROWS - shown) for at, shown in steps.items()}, whole)
        + "@media (prefers-reduced-motion: reduce) { .rows, .cover { animation: none; } }"
    )


def _keyframes(name: str, lines: dict[str, int], seconds: float) -> str:
    """`lines`: how many lines down at each percentage of the time."""
    places = {at: f"transform: translateY({down * _LINE}px);" for at, down in lines.items()}
    frames = " ".join(f"{at} {{ {place} }}" for at, place in places.items())
    return (
        f"@keyframes {name} {{ {frames} }}\n"
        f".{name} {{ {places['100%']} animation: {name} {seconds:g}s step-end infinite; }}\n"
    )


def with_text(readme: str, rows: list[Row]) -> str:
    before, rest = readme.split("<!-- demo -->\n")
    _, after = rest.split("<!-- /demo -->")
    text = "\n".join(row.text for row in rows)
    return f"{before}<!-- demo -->\n```console\n{text}\n```\n<!-- /demo -->{after}"


def main() -> None:
    without_options(__doc__)
    rows, code = record()
    if code:
        raise SystemExit(f"{' '.join(COMMAND)} ended with {code}: nothing was written")
    while rows and not rows[-1].text:
        rows.pop()
    PICTURE.write_text(picture(rows))
    README.write_text(with_text(README.read_text(), rows))
    print(f"wrote {PICTURE.relative_to(REPOSITORY)} ({PICTURE.stat().st_size / 1000:.0f} kB) and README.md")


if __name__ == "__main__":
    main()
