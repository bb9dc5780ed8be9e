from datetime import UTC, datetime
from typing import Any

from client import kept
from contract import tags
from contract.kept import Kept


class Pages:
    """FSx as the listing sees it: two pages."""

    def __init__(self, *pages: list[dict[str, Any]]) -> None:
        self._pages = pages

    def __call__(self, service: str) -> "Pages":
        assert service == "fsx"
        return self

    def get_paginator(self, operation: str) -> "Pages":
        assert operation == "describe_file_systems"
        return self

    def paginate(self) -> list[dict[str, Any]]:
        return [{"FileSystems": page} for page in self._pages]


def file_system(id: str, **words: str) -> dict[str, Any]:
    named = {tags.DEPLOYMENT: "belay", tags.STATE: "kept"} | {f"belay:{key}": value for key, value in words.items()}
    return {"FileSystemId": id, "Tags": [{"Key": key, "Value": value} for key, value in named.items()]}


def test_the_kept_ones_of_a_deployment_are_listed_from_all_pages() -> None:
    clients = Pages(
        [file_system("fs-1", run="r", job="j"), file_system("fs-2", deployment="other"), {"FileSystemId": "fs-3"}],
        [file_system("fs-4", state="in-use"), file_system("fs-5")],
    )
    assert [one.file_system_id for one in kept.listing(clients)] == ["fs-1", "fs-5"]


def test_one_line_says_all_that_a_person_wants_to_know() -> None:
    since = datetime(2026, 11, 21, 3, 4, tzinfo=UTC)
    one = Kept("fs-1", "digits", "r", "Verify: not in S3: checkpoint-40: no manifest in S3", since, 5.52)
    assert kept.sentence(one) == (
        "fs-1 of run r (job digits) is kept since 2026-11-21 03:04 UTC, 5.52 USD a day:"
        " Verify: not in S3: checkpoint-40: no manifest in S3"
    )
