"""`belay` as a person types it, against the deployed stacks: two runs that meet a fault, seen from all sides."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from client.cli.main import app
from client.cli.outcome import Exit, Refused
from contract.verdict import Durability, Training
from local_cloud import environment
from local_cloud.faults import KillTraining
from tests.workflow import documents
from tests.workflow.documents import Belay
from tests.workflow.jobs import digits, script
from tests.workflow.runs import Deployed, Run


@pytest.fixture
def belay(deployed: Deployed, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Belay:
    """Nothing but the ordinary AWS configuration says where the cloud is."""
    for name, value in environment.for_aws(deployed.cloud.settings).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)

    def ask(*words: str) -> tuple[int, str]:
        answer = CliRunner().invoke(app, list(words), input="y\n")
        if answer.exception and not isinstance(answer.exception, SystemExit):
            raise answer.exception
        return answer.exit_code, answer.stdout

    return ask


def of_json(belay: Belay, *words: str) -> Any:
    code, said = belay(*words, "--json")
    assert code == Exit.OK, said
    return json.loads(said)


def found(deployed: Deployed, belay: Belay, job: dict[str, Any]) -> Run:
    """The newest run, as the rest of these tests know it."""
    [one, *_] = [one for one in of_json(belay, "ps") if one["job"] == job["name"]]
    return deployed.known(one["execution_arn"], job)


def test_a_crash_is_tried_again_as_often_as_the_job_says_goes_on_where_it_was_and_is_seen_from_all_sides(
    deployed: Deployed, belay: Belay, tmp_path: Path
) -> None:
    job = digits("typed", steps=300, retry={"crash": 1})
    Path("job.json").write_text("// a comment\n" + json.dumps(job))
    deployed.cloud.inject(KillTraining(at_step=20, on=["saved"]))

    code, said = belay("submit", "job.json", "--follow")
    assert code == Exit.OK, said
    assert "resumed from step" in said and "Certificate of run" in said
    _goes_on_where_it_was(found(deployed, belay, job))

    run = of_json(belay, "status", "typed")
    assert run["verdict"]["last_verified_step"] == 300 and run["attempts"] == 2
    kinds = {one.get("kind") for one in of_json(belay, "events", run["run"])}
    assert {"saved", "verified", "resumed", "trouble"} <= kinds
    assert f'"run": "{run["run"]}"' in belay("logs", run["run"])[1]

    steps = [one["step"] for one in of_json(belay, "checkpoints", "ls", run["run"])]
    assert all(one["whole"] for one in of_json(belay, "checkpoints", "verify", run["run"]))
    assert belay("checkpoints", "get", run["run"], "--into", "home")[0] == Exit.OK
    assert (tmp_path / "home" / "model.safetensors").exists()
    documents.do_what_they_say(deployed, belay, found(deployed, belay, job), step=steps[0])
    _damage_and_remove(deployed, belay, run["run"], steps[1:])

    [record] = of_json(belay, "report", run["run"])
    assert sum(record["seconds"].values()) == pytest.approx(record["wall_seconds"], abs=1e-5)
    assert record["seconds"]["recovery gap"] > 0 and record["seconds"]["compute"] > 0
    assert belay("report", run["run"], "--out", "page.html")[0] == Exit.OK
    assert "recovery gap" in Path("page.html").read_text()
    with pytest.raises(Refused, match="is over already"):
        belay("cancel", run["run"])


def _goes_on_where_it_was(run: Run) -> None:
    assert run.status == "SUCCEEDED", run.story()
    [resumed] = [event for event in run.events if event["kind"] == "resumed"]
    assert resumed["attempt"] == 2
    announced = [event["step"] for event in run.events if event["kind"] == "saved" and event["attempt"] == 1]
    # A save that was under way may be lost with the training, and may as well have become whole before it.
    assert resumed["step"] >= max(announced) >= 20


def _damage_and_remove(deployed: Deployed, belay: Belay, run: str, steps: list[int]) -> None:
    """A byte that is not what was saved is found; the newest stays whatever is asked."""
    key = f"jobs/typed/{run}/checkpoints/checkpoint-{steps[0]}/config.json"
    body = deployed.object(key)
    deployed.s3.put_object(Bucket=deployed.bucket, Key=key, Body=body[:-1] + b" ")
    code, said = belay("checkpoints", "verify", run, "--step", str(steps[0]))
    assert code == Exit.DAMAGED and "config.json" in said
    assert belay("checkpoints", "rm", run, "--step", str(steps[0]), "--yes")[0] == Exit.OK
    assert deployed.keys(f"jobs/typed/{run}/checkpoints/checkpoint-{steps[0]}/") == []
    with pytest.raises(Refused, match="the newest that is proven"):
        belay("checkpoints", "rm", run, "--step", str(steps[-1]), "--yes")


def test_a_drill_that_stops_the_execution_during_training_saves_exports_and_deletes(
    deployed: Deployed, belay: Belay
) -> None:
    job = digits("drilled", steps=100_000, every="20 steps")
    Path("job.json").write_text(json.dumps(job))
    assert belay("plan", "job.json")[0] == Exit.OK
    code, said = belay("drill", "job.json")
    assert code == Exit.OK, said
    assert "nothing that was saved is lost" in said

    # Under a name of its own.
    run = found(deployed, belay, job | {"name": "drilled-drill"})
    assert run.status == "ABORTED"
    verdict = run.certificate.verdict
    assert (verdict.training, verdict.durability) == (Training.STOPPED, Durability.VERIFIED)
    run.until(lambda: run.file_systems == [], "the file system is gone")
    assert run.living_tasks == []
    assert run.run not in belay("sweep", "--dry-run", "--json")[1]
    with pytest.raises(Refused, match="there is no run and no job"):
        belay("status", "nobody")


def test_a_run_that_is_killed_ends_without_its_last_save_and_leaves_nothing_behind(
    deployed: Deployed, belay: Belay, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Told to stop, it would save at the end of its step: nothing else does in this job."""
    monkeypatch.setattr("typer.confirm", lambda question: "without saving" in question)
    job = script("killed", "data/crash.py", "--slow-from", "10", every="1h")
    run = deployed.start(job)
    run.until(lambda: (of_json(belay, "status", run.run)["step"] or 0) >= 10, "it trains")
    code, said = belay("kill", run.run)
    assert code == Exit.OK and "of training would be lost" in said
    run.until_certified()

    verdict = run.certificate.verdict
    assert (verdict.training, verdict.durability) == (Training.STOPPED, Durability.NOTHING_SAVED)
    assert any("at once, as somebody asked" in event.get("reason", "") for event in run.events)
    run.until(lambda: run.file_systems == [], "the file system is gone")
    assert run.living_tasks == []
