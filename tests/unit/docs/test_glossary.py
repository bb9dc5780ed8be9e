"""The glossary is short, each word stands in it once, and the code has what it names."""

import re

from tools.repository import REPOSITORY

PAGE = REPOSITORY / "docs" / "glossary.md"
MOST_WORDS = 25
ROW = re.compile(r"^\| ([a-z ]+) \| (.+) \| (.+) \|$", re.MULTILINE)
NAMED = re.compile(r"`(\w+)` in \[[^\]]+\]\(([^)]+)\)")


def test_the_glossary_is_short_and_has_each_word_once() -> None:
    words = [word for word, _, _ in ROW.findall(PAGE.read_text())]

    assert 0 < len(words) <= MOST_WORDS
    assert len(words) == len(set(words))


def test_the_code_has_what_the_glossary_names() -> None:
    named = [found for *_, place in ROW.findall(PAGE.read_text()) for found in NAMED.findall(place)]

    assert named
    assert [
        (name, path)
        for name, path in named
        if not re.search(rf"\b{name}\b", (PAGE.parent / path).resolve().read_text())
    ] == []


def test_every_word_of_the_glossary_is_used_in_another_document() -> None:
    pages = [REPOSITORY / "README.md", *(page for page in (REPOSITORY / "docs").glob("*.md") if page != PAGE)]
    text = "\n".join(page.read_text() for page in pages).lower()

    assert [word for word, _, _ in ROW.findall(PAGE.read_text()) if not re.search(rf"\b{word}s?\b", text)] == []
