"""`belay` as a person types it, on the deployed stacks: every verb, on runs that meet a fault."""

import json
from pathlib import Path
from typing import Any

import pytest

from belay.cli.outcome import Exit, Refused
from belay.contract.verdict import Durability, Training
from tests.e2e import documents
from tests.e2e.documents import Belay
from tools.local_cloud.faults import KillTraining
from tools.local_runs.jobs import digits, script
from tools.local_runs.runs import Deployed, Run


def of_json(belay: Belay, *words: str) -> Any:
    code, output = belay(*words, "--json")
    assert code == Exit.OK, output
    return json.loads(output)


def found(deployed: Deployed, belay: Belay, job: dict[str, Any]) -> Run:
    """The newest run of the job."""
    [one, *_] = [one for one in of_json(belay, "ps") if one["job"] == job["name"]]
    return deployed.run_of(one["execution_arn"], job)


def test_after_a_crash_the_next_attempt_resumes_and_every_verb_shows_it(
    deployed: Deployed, belay: Belay, tmp_path: Path
) -> None:
    job = digits("typed", steps=300, retry={"crash": 1})
    Path("job.json").write_text("// a comment\n" + json.dumps(job))
    deployed.cloud.inject(KillTraining(at_step=20, on=["saved"]))

    code, output = belay("submit", "job.json", "--follow")
    assert code == Exit.OK, output
    assert "resumed from step" in output and "Certificate of run" in output
    _resumed_from_the_newest_save(found(deployed, belay, job))

    run = of_json(belay, "status", "typed")
    assert run["verdict"]["last_verified_step"] == 300 and run["attempts"] == 2
    kinds = {one.get("kind") for one in of_json(belay, "events", run["run"])}
    assert {"saved", "verified", "resumed", "trouble"} <= kinds
    assert f'"run": "{run["run"]}"' in belay("logs", run["run"])[1]

    steps = [one["step"] for one in of_json(belay, "checkpoints", "ls", run["run"])]
    assert all(one["whole"] for one in of_json(belay, "checkpoints", "verify", run["run"]))
    assert belay("checkpoints", "get", run["run"], "--into", "home")[0] == Exit.OK
    assert (tmp_path / "home" / "model.safetensors").exists()
    documents.run_all(deployed, belay, found(deployed, belay, job), step=steps[0])
    _damage_and_remove(deployed, belay, run["run"], steps[1:])

    [record] = of_json(belay, "report", run["run"])
    assert sum(record["seconds"].values()) == pytest.approx(record["wall_seconds"], abs=1e-5)
    assert record["seconds"]["recovery gap"] > 0 and record["seconds"]["compute"] > 0
    assert belay("report", run["run"], "--out", "page.html")[0] == Exit.OK
    assert "recovery gap" in Path("page.html").read_text()
    with pytest.raises(Refused, match="is over already"):
        belay("cancel", run["run"])


def _resumed_from_the_newest_save(run: Run) -> None:
    assert run.status == "SUCCEEDED", run.story()
    [resumed] = [event for event in run.events if event["kind"] == "resumed"]
    assert resumed["attempt"] == 2
    announced = [event["step"] for event in run.events if event["kind"] == "saved" and event["attempt"] == 1]
    # A save that was in progress at the kill may or may not have been committed.
    assert resumed["step"] >= max(announced) >= 20


def _damage_and_remove(deployed: Deployed, belay: Belay, run: str, steps: list[int]) -> None:
    """`verify` finds a changed byte; `rm` removes a checkpoint, but never the newest proven one."""
    key = f"jobs/typed/{run}/checkpoints/checkpoint-{steps[0]}/config.json"
    body = deployed.object(key)
    deployed.s3.put_object(Bucket=deployed.bucket, Key=key, Body=body[:-1] + b" ")
    code, output = belay("checkpoints", "verify", run, "--step", str(steps[0]))
    assert code == Exit.DAMAGED and "config.json" in output
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
    code, output = belay("drill", "job.json")
    assert code == Exit.OK, output
    assert "nothing that was saved is lost" in output

    # A drill gives its job another name.
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
    """`cancel` would save at the end of the step. Nothing else saves in this job, so a kill leaves no checkpoint."""
    monkeypatch.setattr("typer.confirm", lambda question: "without saving" in question)
    job = script("killed-by-a-person", "data/crash.py", "--slow-from", "10", every="1h")
    run = deployed.start(job)
    run.until(lambda: (of_json(belay, "status", run.run)["step"] or 0) >= 10, "it trains")
    code, output = belay("kill", run.run)
    assert code == Exit.OK and "of training would be lost" in output
    run.until_certified()

    verdict = run.certificate.verdict
    assert (verdict.training, verdict.durability) == (Training.STOPPED, Durability.NOTHING_SAVED)
    assert any("at once, as a person asked" in event.get("reason", "") for event in run.events), [
        (event["kind"], event.get("reason"), event.get("why")) for event in run.events if event["kind"] != "step"
    ]
    run.until(lambda: run.file_systems == [], "the file system is gone")
    assert run.living_tasks == []
