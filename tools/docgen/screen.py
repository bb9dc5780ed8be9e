"""What a program wrote to a terminal, as the rows on its screen in the end, with colours and times."""

import re
from dataclasses import dataclass, field
from typing import NamedTuple

_PIECE = re.compile(r"\x1b\[(?P<codes>[?0-9;]*)(?P<verb>[A-Za-z])|(?P<return>\r)|(?P<feed>\n)|(?P<sign>[^\x1b\r\n])")


class Style(NamedTuple):
    bold: bool = False
    dim: bool = False
    colour: int | None = None
    """As terminals number them: 31 is red."""

    def after(self, codes: str) -> "Style":
        style = self
        for code in map(int, codes.split(";") if codes else ["0"]):
            match code:
                case 0:
                    style = Style()
                case 1:
                    style = style._replace(bold=True)
                case 2:
                    style = style._replace(dim=True)
                case 22:
                    style = style._replace(bold=False, dim=False)
                case 39:
                    style = style._replace(colour=None)
                case _ if 30 <= code <= 37 or 90 <= code <= 97:
                    style = style._replace(colour=code)
                case _:
                    raise ValueError(f"unknown colour code of a terminal: {code}")
        return style


@dataclass
class Row:
    signs: list[tuple[str, Style]] = field(default_factory=list)
    seconds: float = 0.0
    """When it was last written to."""

    @property
    def text(self) -> str:
        return "".join(sign for sign, _ in self.signs).rstrip()

    @property
    def pieces(self) -> list[tuple[int, str, Style]]:
        """What stands in one style, with the column where it begins."""
        found: list[tuple[int, str, Style]] = []
        for column, (sign, style) in enumerate(self.signs[: len(self.text)]):
            if found and found[-1][2] == style:
                begin, text, _ = found.pop()
                found.append((begin, text + sign, style))
            else:
                found.append((column, sign, style))
        return [piece for piece in found if piece[1].strip()]


class Screen:
    """As much of a terminal as Rich's live lines need: colours, carriage returns, erased lines, the cursor up."""

    def __init__(self) -> None:
        self.rows = [Row()]
        self._row, self._column, self._style = 0, 0, Style()

    def write(self, text: str, seconds: float) -> None:
        for piece in _PIECE.finditer(text):
            if piece["verb"]:
                self._control(piece["verb"], piece["codes"])
            elif piece["return"]:
                self._column = 0
            elif piece["feed"]:
                self._row, self._column = self._row + 1, 0
                if self._row == len(self.rows):
                    self.rows.append(Row(seconds=seconds))
            else:
                self._put(piece["sign"], seconds)

    def _control(self, verb: str, codes: str) -> None:
        row = self.rows[self._row]
        match verb:
            case "m":
                self._style = self._style.after(codes)
            case "K":
                del row.signs[0 if codes == "2" else self._column :]
            case "A":
                self._row = max(0, self._row - int(codes or 1))
            case "h" | "l":
                pass  # The cursor is shown or hidden.
            case _:
                raise ValueError(f"unknown control sequence of a terminal: {codes}{verb}")

    def _put(self, sign: str, seconds: float) -> None:
        row = self.rows[self._row]
        row.signs += [(" ", Style())] * (self._column - len(row.signs))
        row.signs[self._column : self._column + 1] = [(sign, self._style)]
        row.seconds, self._column = seconds, self._column + 1
