"""Watching a run lasts until its end, through lost connections, and stopping to watch does not stop the run."""

from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError

from belay.cli.commands import runs
from belay.cli.outcome import Exit
from belay.client.progress import Snapshot
from belay.contract.certificate import Certificate
from belay.contract.paths import RunPrefix
from belay.contract.verdict import Durability, Training
from tests.unit.cli.fake import refused
from tests.unit.client.samples import RUN, START, certificate

CERTIFICATE = certificate(Training.STOPPED, Durability.VERIFIED, last_verified_step=40)


class Watched:
    """A run whose looks come as they are listed; its certificate is there after the last."""

    execution_arn, prefix, started_at = "arn", RunPrefix("digits", RUN), START

    def __init__(self, *looks: Any) -> None:
        self.looks = list(looks)

    def snapshot(self) -> Snapshot:
        next_one = self.looks.pop(0)
        if isinstance(next_one, BaseException):
            raise next_one
        assert isinstance(next_one, Snapshot)
        return next_one

    def plan(self) -> Any:
        class Plan:
            rates = None

        return Plan()

    def certificate(self) -> Certificate | None:
        return None if self.looks else CERTIFICATE


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("belay.cli.commands.runs.time.sleep", lambda _seconds: None)


def watch(*looks: Any) -> Exit:
    return runs._watch(Watched(*looks))  # type: ignore[arg-type]


LOST = EndpointConnectionError(endpoint_url="https://states")


def test_a_lost_connection_is_waited_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert watch(Snapshot("RUNNING"), LOST, refused("ThrottlingException"), Snapshot("ABORTED")) is Exit.NOT_TRAINED
    assert "verified in" in capsys.readouterr().out


def test_it_does_not_matter_what_was_being_read_when_the_connection_was_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    lost = iter([LOST])

    def plan(watched: Watched) -> None:
        for fault in lost:
            raise fault

    monkeypatch.setattr(Watched, "plan", plan)
    assert watch(Snapshot("RUNNING"), Snapshot("RUNNING"), Snapshot("ABORTED")) is Exit.NOT_TRAINED


def test_a_stopped_run_is_watched_until_its_certificate_is_there() -> None:
    watched = Watched(Snapshot("ABORTED"), Snapshot("ABORTED"), Snapshot("ABORTED"))
    assert runs._watch(watched) is Exit.NOT_TRAINED  # type: ignore[arg-type]
    assert watched.looks == []


def test_a_refusal_is_not_waited_for() -> None:
    with pytest.raises(Exception, match="AccessDenied"):
        watch(Snapshot("RUNNING"), refused("AccessDenied"), Snapshot("SUCCEEDED"))


def test_a_connection_that_stays_lost_is_given_up_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 10_000, 100))
    monkeypatch.setattr("belay.cli.commands.runs.time.monotonic", lambda: float(next(clock)))
    with pytest.raises(EndpointConnectionError):
        watch(*[LOST] * 50)


def test_ctrl_c_leaves_the_run_alone_and_says_how_to_come_back(capsys: pytest.CaptureFixture[str]) -> None:
    assert watch(Snapshot("RUNNING"), KeyboardInterrupt()) is Exit.INTERRUPTED
    assert f"belay watch {RUN}" in capsys.readouterr().out
