"""Every link from one file of the repository to another leads somewhere."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.repository import REPOSITORY

LINK = re.compile(r"(?<!`)\[[^\]\n]*\]\(([^)\s]+)\)")
PICTURE = re.compile(r'\b(?:src|srcset)="([^"]+)"')
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
PAGES = sorted(
    {
        *REPOSITORY.glob("*.md"),
        *REPOSITORY.glob("docs/**/*.md"),
        *REPOSITORY.glob("tools/local_cloud/*.md"),
        *REPOSITORY.glob("examples/**/*.md"),
        *REPOSITORY.glob("stallfree/*.md"),
    }
)


def anchors_of(page: Path) -> Iterator[str]:
    """As GitHub makes them from headings."""
    for heading in re.findall(r"^#+ (.+)$", FENCED.sub("", page.read_text()), re.MULTILINE):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        yield re.sub(r"[^\w\- ]", "", words).replace(" ", "-")


def broken(page: Path) -> list[str]:
    found = []
    text = FENCED.sub("", page.read_text())
    for link in LINK.findall(text) + PICTURE.findall(text):
        path, _, anchor = link.partition("#")
        if re.match(r"[a-z]+:", path):
            continue  # Elsewhere on the web: a test that asks the network would fail with it.
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors_of(target)):
            found.append(link)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_every_link_leads_somewhere(page: Path) -> None:
    assert broken(page) == []


def test_a_broken_link_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    links = '[a](#one-heading-two) [b](#another) [c](gone.md) [d](https://x.test/) <img src="gone.png">'
    page.write_text(f"# One heading, two\n{links}\n")
    assert broken(page) == ["#another", "gone.md", "gone.png"]


def test_every_page_and_record_is_in_its_index() -> None:
    for folder in (REPOSITORY / "docs", REPOSITORY / "docs" / "decisions"):
        index = LINK.findall((folder / "README.md").read_text())
        pages = sorted(page.name for page in folder.glob("*.md") if page.name != "README.md")
        assert [page for page in pages if page not in index] == [], folder.name


def test_records_stand_in_their_order() -> None:
    records = [
        link for link in LINK.findall((REPOSITORY / "docs/decisions/README.md").read_text()) if link[0].isdigit()
    ]
    assert records == sorted(records) and len(records) == len(set(records))
