"""A job file that a document shows is one that Belay accepts."""

import json
import re
from pathlib import Path

import pytest

from belay.contract.faults import parse_job
from tools.repository import REPOSITORY

PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]


def jobs_in(page: Path) -> list[str]:
    return [block for block in re.findall(r"^```json\n(.*?)^```", page.read_text(), re.M | re.S) if '"train"' in block]


@pytest.mark.parametrize("page", [page for page in PAGES if jobs_in(page)], ids=lambda page: page.name)
def test_a_job_file_in_the_docs_is_accepted(page: Path) -> None:
    for block in jobs_in(page):
        parse_job(json.loads(block))


def test_the_readme_shows_one() -> None:
    assert jobs_in(REPOSITORY / "README.md") != []
