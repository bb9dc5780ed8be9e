"""CONTRIBUTING lists the order of imports as the test of imports holds it."""

import re

from tests.unit.test_imports import ORDER
from tools.repository import REPOSITORY

LINE = re.compile(r"^\d+\. `([a-z._]+)`[^:]*: (.+)$", re.MULTILINE)


def test_contributing_lists_the_order_of_imports() -> None:
    listed = {name: rest for name, rest in LINE.findall((REPOSITORY / "CONTRIBUTING.md").read_text()) if name in ORDER}

    assert list(listed) == list(ORDER)
    assert {name: short(rest.split(", ")) for name, rest in listed.items()} == {
        name: short(below) for name, below in ORDER.items()
    }


def short(names: set[str] | list[str]) -> set[str]:
    return {name.removeprefix("belay.") for name in names} - {"nothing"}
