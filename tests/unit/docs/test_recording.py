"""The recorded terminal: what a program wrote becomes what a person saw, and README shows that and nothing else."""

import re
import sys
from xml.etree import ElementTree

import pytest

from tools.docgen import recording
from tools.docgen.recording import PICTURE, README, picture, with_text
from tools.docgen.screen import Row, Screen, Style

SVG = "{http://www.w3.org/2000/svg}"


def shown(written: str) -> list[Row]:
    screen = Screen()
    screen.write(written, 1.0)
    return screen.rows


def test_a_line_that_was_written_again_and_again_is_what_it_was_last() -> None:
    rows = shown("\x1b[?25l\x1b[32m⠋\x1b[0m Deploy ...\r\x1b[2K\x1b[32m✓\x1b[0m Deploy (7 s)\r\nnext")
    assert [row.text for row in rows] == ["✓ Deploy (7 s)", "next"]
    assert rows[0].pieces == [(0, "✓", Style(colour=32)), (1, " Deploy (7 s)", Style())]


def test_a_live_block_is_drawn_over_where_it_stood() -> None:
    assert [row.text for row in shown("one\r\ntwo\r\n\x1b[1A\x1b[2Kthree\r\x1b[1A\x1b[2Kzero")] == ["zero", "three", ""]


def test_what_cannot_be_drawn_is_refused() -> None:
    for written in ("\x1b[38;5;9mred", "\x1b[5;5Hthere"):
        with pytest.raises(ValueError, match="of a terminal"):
            shown(written)


def test_the_picture_is_made_of_the_rows_and_plays_them_in_their_order() -> None:
    rows = [Row([(sign, Style()) for sign in f"row {number} <&>"], seconds=float(number)) for number in range(60)]
    drawn = ElementTree.fromstring(picture(rows))
    texts = [text.text for text in drawn.iter(f"{SVG}text")][1:]
    assert texts == [row.text for row in rows]
    style = next(drawn.iter(f"{SVG}style")).text or ""
    for name in ("rows", "cover"):
        moments = [
            float(at) for at in re.findall(r"([\d.]+)% \{", style.split(f"@keyframes {name}")[1].split("}\n")[0])
        ]
        assert len(moments) == 62 and moments[0] == 0 and moments[-1] == 100
        assert moments[1:-1] == sorted(moments[1:-1])


def test_a_program_is_recorded_in_a_terminal_with_its_times_and_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    told = "import sys, time; print(sys.stdout.isatty()); time.sleep(0.5); print('\\x1b[32mdone\\x1b[0m'); sys.exit(3)"
    monkeypatch.setattr(recording, "COMMAND", [sys.executable, "-c", told])
    rows, code = recording.record()
    assert [row.text for row in rows[-3:]] == ["True", "done", ""] and code == 3
    assert rows[-2].pieces[0][2].colour == 32 and rows[-2].seconds - rows[-3].seconds > 0.1


def test_what_readme_shows_was_recorded_in_one_go() -> None:
    svg = PICTURE.read_text()
    assert len(svg) < 150_000 and not re.search(r"(?:href|src|url\()", svg)
    signs = "".join(text.text or "" for text in ElementTree.fromstring(svg).iter(f"{SVG}text"))
    [told] = re.findall(r"<!-- demo -->\n```console\n(.*?)```", README.read_text(), re.S)
    assert re.sub(r"\s", "", signs) == "makedemo" + re.sub(r"\s", "", told)
    assert "Trained and safe" in told and re.search(r"\d+\.\d% are read right", told)


def test_only_what_was_recorded_is_replaced() -> None:
    page = "before\n<!-- demo -->\nold\n<!-- /demo -->\nafter\n"
    written = with_text(page, shown("$ make demo\r\nnew"))
    assert written == "before\n<!-- demo -->\n```console\n$ make demo\nnew\n```\n<!-- /demo -->\nafter\n"
