"""The start-up check: an engine that changed is reported before anything runs on it."""

from __future__ import annotations

import pytest

from tools.local_cloud import engines
from tools.local_cloud.engines import EngineChanged, Private


def test_a_missing_name_is_reported_with_its_purpose(monkeypatch: pytest.MonkeyPatch) -> None:
    table = (
        Private("json", "JSONDecoder.decode", "is there"),
        Private("json", "JSONDecoder._gone", "reads numbers"),
        Private("no_such_engine", "anything", "runs states"),
    )
    monkeypatch.setattr(engines, "TABLE", table)
    with pytest.raises(EngineChanged) as raised:
        engines.check()
    assert "json.JSONDecoder._gone: reads numbers" in str(raised.value)
    assert "no_such_engine.anything: runs states" in str(raised.value)
    assert "is there" not in str(raised.value)


def test_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "PINNED", {"moto": "0.0.1"})
    with pytest.raises(EngineChanged, match=r"moto is 5\..* and the local cloud is built on 0\.0\.1"):
        engines.check()


def test_what_is_not_in_the_table_cannot_be_used() -> None:
    with pytest.raises(KeyError):
        engines.use("json", "loads")
