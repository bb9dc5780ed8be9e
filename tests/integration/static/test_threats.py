"""docs/threats.md names tests: each of them must be there, and each threat must have one."""

import re
from pathlib import Path

import pytest

from tools.repository import REPOSITORY

ROWS = [line for line in (REPOSITORY / "docs" / "threats.md").read_text().splitlines() if line.startswith("| ")][1:]
NAMED = re.compile(r"`(test_\w+)`")


def names_in(folder: Path) -> set[str]:
    return {
        name for file in folder.rglob("test_*.py") for name in re.findall(r"^def (test_\w+)", file.read_text(), re.M)
    }


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("|")[2].strip()[:50])
def test_a_threat_has_tests_and_they_are_there(row: str) -> None:
    named = set(NAMED.findall(row.split("|")[4]))
    assert named, "no test shows it"
    missing = named - names_in(REPOSITORY / "tests") - names_in(REPOSITORY / "stallfree" / "tests")
    assert missing == set(), "it is called otherwise, or is gone"
