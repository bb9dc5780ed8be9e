"""A drill makes one thing go wrong for one run, takes it back, and judges what is left."""

import json
from pathlib import Path
from typing import Any

import pytest

from belay.cli.commands import drill
from belay.cli.outcome import Exit, Refused
from belay.client.history import Entered
from belay.client.progress import Snapshot
from belay.contract.certificate import Certificate
from belay.contract.faults import parse_job
from belay.contract.paths import RunPrefix
from belay.contract.verdict import Durability, Training
from tests.unit.cli.fake import Aws
from tests.unit.client.samples import RUN, START, at, certificate, saved

FILE = Path(__file__).parents[3] / "examples" / "digits.json"
OF_THIS_RUN = {"belay:run": RUN}


def ended(durability: Durability, step: int | None) -> Certificate:
    return certificate(Training.COMPLETED, durability, last_verified_step=step)


class Drilled:
    """A run whose looks come as they are listed, the last one for ever; its certificate is there from then on."""

    execution_arn, prefix, started_at = "arn", RunPrefix("digits", RUN), START

    def __init__(self, certificate: Certificate, *looks: Snapshot) -> None:
        self._certificate, self._snapshots = certificate, list(looks)

    def snapshot(self) -> Snapshot:
        return self._snapshots.pop(0) if len(self._snapshots) > 1 else self._snapshots[0]

    def certificate(self) -> Certificate | None:
        return self._certificate if len(self._snapshots) == 1 else None

    def plan(self) -> str:
        return "a plan"

    def describe(self) -> dict[str, Any]:
        return {"status": "RUNNING" if self.certificate() is None else "SUCCEEDED"}


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """What the local cloud was asked; a fault that came in happens at once, unless it is kept."""
    asked: list[tuple[str, Any]] = []

    def ask(method: str, document: Any = None) -> Any:
        asked.append((method, document))
        return []

    monkeypatch.setattr(drill, "_ask_local_cloud", ask)
    monkeypatch.setattr("belay.cli.commands.drill.time.sleep", lambda _seconds: None)
    return asked


def drilled(monkeypatch: pytest.MonkeyPatch, run: Drilled, fault: str) -> Exit:
    aws = Aws()
    monkeypatch.setattr(drill, "connect", lambda _name: aws.cloud)
    monkeypatch.setattr(type(aws.cloud), "run", lambda _cloud, _arn: run)
    return drill.drill(FILE, fault=fault, deployment_name="belay")


def test_no_instance_comes_for_one_attempt_of_this_run_and_then_one_does(
    monkeypatch: pytest.MonkeyPatch, faults: list[tuple[str, Any]]
) -> None:
    given_up = Snapshot("RUNNING", entered=[Entered(at(5), "How did it end?")])
    run = Drilled(
        ended(Durability.VERIFIED, 40),
        Snapshot("RUNNING"),
        given_up,
        Snapshot("SUCCEEDED", events=[saved(40, seconds=1)]),
    )
    assert drilled(monkeypatch, run, "capacity") is Exit.OK
    assert faults[1:3] == [("POST", {"kind": "NoCapacity", "where": OF_THIS_RUN}), ("DELETE", OF_THIS_RUN)]


@pytest.mark.parametrize("name", ["digits", "d" * 48])
def test_it_trains_from_the_first_step_under_a_name_that_no_real_run_goes_on_from(name: str) -> None:
    job = parse_job(drill._drilled(json.loads(FILE.read_text()) | {"name": name}))
    assert job.name.endswith("-drill") and job.name != name and job.resume == "never"


def test_a_fault_that_did_not_happen_proves_nothing_and_is_taken_back(
    monkeypatch: pytest.MonkeyPatch, faults: list[tuple[str, Any]]
) -> None:
    monkeypatch.setattr(drill, "_waiting", lambda _fault: [{"kind": "ExportFails", "where": OF_THIS_RUN}])
    run = Drilled(ended(Durability.VERIFIED, 40), Snapshot("SUCCEEDED", events=[saved(40, seconds=1)]))
    with pytest.raises(Refused, match="ended before export could happen"):
        drilled(monkeypatch, run, "export")
    assert faults[-1] == ("DELETE", OF_THIS_RUN)


@pytest.mark.usefixtures("faults")
def test_a_run_that_ends_without_a_checkpoint_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Drilled(ended(Durability.NOTHING_SAVED, None), Snapshot("RUNNING"), Snapshot("FAILED"))
    with pytest.raises(Refused, match="ended before a checkpoint is saved"):
        drilled(monkeypatch, run, "abort")


@pytest.mark.usefixtures("faults")
@pytest.mark.parametrize(
    ("durability", "proven", "exit"),
    [
        (Durability.VERIFIED, 40, Exit.OK),
        (Durability.VERIFIED, 20, Exit.NOT_SAFE),
        (Durability.KEPT, 40, Exit.NOT_SAFE),
        (Durability.LOST, None, Exit.NOT_SAFE),
    ],
)
def test_only_the_newest_save_proven_is_safe(
    monkeypatch: pytest.MonkeyPatch, durability: Durability, proven: int | None, exit: Exit
) -> None:
    run = Drilled(ended(durability, proven), Snapshot("FAILED", events=[saved(20, seconds=1), saved(40, seconds=2)]))
    assert drilled(monkeypatch, run, "crash") is exit


def test_a_fault_of_a_local_cloud_is_refused_elsewhere_before_anything_is_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "https://states.us-east-1.amazonaws.com")
    aws = Aws()
    monkeypatch.setattr(drill, "connect", lambda _name: aws.cloud)
    with pytest.raises(Refused, match="only be made on a local cloud"):
        drill.drill(FILE, fault="crash", deployment_name="belay")
    assert aws.started == []


def test_the_faults_are_ones_that_the_local_cloud_knows() -> None:
    from tools.local_cloud.faults import Fault

    for fault in drill._OF_A_LOCAL_CLOUD.values():
        made = Fault.from_json(json.loads(json.dumps({**fault, "where": OF_THIS_RUN})))
        assert made.matches(OF_THIS_RUN) and not made.matches({"belay:run": "another"})
