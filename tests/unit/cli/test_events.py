"""The events of a run come in the order in which they happened, each with its actor."""

import json
from typing import Any

import pytest

from belay.cli.commands import events
from belay.client.history import Entered, Trouble
from belay.client.progress import Snapshot
from belay.contract.ledger import Ledger
from belay.contract.paths import RunPrefix
from tests.unit.client.samples import RUN, START, at, proven, saved, step

LOOK = Snapshot(
    "FAILED",
    entered=[Entered(at(1), "Train"), Entered(at(40), "Verify", teardown=True)],
    troubles=[Trouble(at(31), "States.TaskFailed", "exit code 1")],
    events=[step(20, seconds=10, loss=2.0), saved(20, seconds=11)],
    ledger=Ledger(run=RUN, entries=[proven(20, seconds=30)]),
)


class Recorded:
    """A run, its cloud and its log in one: three lines of two tasks, of which one names the run."""

    prefix, started_at = RunPrefix("digits", RUN), START
    lines = (("one", 2, saved(20, seconds=11).line()), ("one", 1, "Epoch 1/3"), ("another", 3, "not of this run"))

    def run(self, _name: str) -> "Recorded":
        return self

    def snapshot(self) -> Snapshot:
        return LOOK

    def describe(self) -> dict[str, Any]:
        return {"status": "FAILED"}

    def plan(self) -> None:
        return None

    @property
    def deployment(self) -> Any:
        return type("Deployed", (), {"trainer_log_group": "log"})

    def clients(self, _service: str) -> "Recorded":
        return self

    def get_paginator(self, _operation: str) -> "Recorded":
        return self

    def paginate(self, **asked: Any) -> Any:
        wanted = asked.get("logStreamNames") or [stream for stream, _, text in self.lines if RUN in text]
        begin_ms = int(START.timestamp() * 1000)
        yield {
            "events": [
                {"logStreamName": stream, "timestamp": begin_ms + second, "message": text, "eventId": text}
                for stream, second, text in self.lines
                if stream in wanted
            ]
        }


@pytest.fixture(autouse=True)
def connected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "connect", lambda _name: Recorded())


def test_the_time_line_names_who_did_what_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    events.events(RUN, deployment_name="belay", as_json=True)
    lines = json.loads(capsys.readouterr().out)
    assert [line["actor"] for line in lines] == ["flow", "trainer 1", "trainer 1", "belay", "flow", "teardown"]
    events.events(RUN, deployment_name="belay", as_json=False)
    assert "step 20 is proven in S3" in capsys.readouterr().out


def test_the_logs_are_all_that_its_own_tasks_printed_and_nothing_of_others(capsys: pytest.CaptureFixture[str]) -> None:
    events.logs(RUN, follow=True, deployment_name="belay")
    assert capsys.readouterr().out.splitlines() == ["Epoch 1/3", saved(20, seconds=11).line()]
