"""What a live run made is removed in all its versions, unless a file system may still need it."""

from typing import Any
from unittest.mock import MagicMock

import pytest

from belay.client.live import cleaning
from tests.unit.client.samples import DEPLOYED, RUN

DATA = "datasets/belay-doctor/0a1b/"


class S3:
    """Two versions in a page."""

    def __init__(self, *keys: str) -> None:
        self.versions = [{"Key": key, "VersionId": f"v{number}"} for number, key in enumerate(keys)]
        self.removed: list[tuple[str, str]] = []

    def get_paginator(self, name: str) -> Any:
        assert name == "list_object_versions"
        pages = MagicMock()
        pages.paginate = self._pages
        return pages

    def _pages(self, *, Bucket: str, Prefix: str) -> Any:
        found = [one for one in self.versions if one["Key"].startswith(Prefix)]
        for begin in range(0, len(found), 2):
            yield {"Versions": found[begin : begin + 1], "DeleteMarkers": found[begin + 1 : begin + 2]}

    def delete_objects(self, *, Bucket: str, Delete: dict[str, Any]) -> None:
        self.removed += [(one["Key"], one["VersionId"]) for one in Delete["Objects"]]


def run() -> Any:
    made = MagicMock()
    made.prefix.run = RUN
    made.prefix.root = f"jobs/belay-doctor/{RUN}/"
    made.prefix.checkpoints = f"jobs/belay-doctor/{RUN}/checkpoints/"
    return made


KEYS = (
    f"{DATA}inspection.py",
    f"{DATA}large.bin",
    f"{DATA}large.bin",
    f"jobs/belay-doctor/{RUN}/checkpoints/checkpoint-10/model.safetensors",
    f"jobs/belay-doctor/{RUN}/events/large-export.bin",
    f"jobs/belay-doctor/{RUN}/certificate.json",
    "datasets/digits/one.png",
)


def cleaned(monkeypatch: pytest.MonkeyPatch, *, file_systems: list[str]) -> list[str]:
    s3 = S3(*KEYS)
    monkeypatch.setattr(cleaning, "file_systems_of", lambda clients, run, known: file_systems)
    cleaning.clean(lambda service: s3, DEPLOYED, run(), DATA, known="fs-1")
    assert len(set(s3.removed)) == len(s3.removed)
    return [key for key, _ in s3.removed]


def test_every_version_of_the_data_and_of_what_was_saved_goes_and_the_runs_documents_stay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert sorted(cleaned(monkeypatch, file_systems=[])) == sorted(KEYS[:5])


def test_nothing_goes_while_a_file_system_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its export may not be proven, and its data is read through the link."""
    assert cleaned(monkeypatch, file_systems=["fs-1"]) == []
