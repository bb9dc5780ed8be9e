"""A person who ends a run without its last save knows what that costs, and can still say no."""

import json
from pathlib import Path
from typing import Any

import pytest

from belay.cli.commands import control
from belay.cli.outcome import Exit, Refused
from belay.client.checkpoints import NoCheckpoint
from belay.contract.events import Started
from belay.contract.stop_reasons import END_NOW_TAG, KILLED
from belay.contract.verdict import Durability, Training
from tests.unit.cli.fake import Aws
from tests.unit.client.samples import at, certificate, saved, step

JOB: dict[str, Any] = json.loads((Path(__file__).parents[3] / "examples" / "digits.json").read_text())


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Aws:
    aws = Aws()
    monkeypatch.setattr(control, "connect", lambda _name: aws.cloud)
    return aws


def training(aws: Aws, *, status: str = "RUNNING", step_seconds: float | None = 90) -> str:
    """A run at step 50 whose step 40 is saved."""
    run = aws.run(JOB, at=at(0), status=status)
    for event in (saved(40, seconds=400), step(50, seconds=500).model_copy(update={"step_seconds": step_seconds})):
        aws.say(event.model_copy(update={"run": run}))
    aws.task(run)
    aws.task("of-somebody-else")
    return run


def kill(run: str, *, confirm: bool = True) -> Exit:
    return control.kill(run, confirm=lambda _question: confirm, deployment_name="belay")


def resume(run: str, *, step: int | None = None) -> Exit:
    return control.resume(run, step=step, follow=False, deployment_name="belay", as_json=True)


def test_it_says_what_would_be_lost_and_a_no_changes_nothing(aws: Aws, capsys: pytest.CaptureFixture[str]) -> None:
    run = training(aws)
    assert kill(run, confirm=False) is Exit.INTERRUPTED
    assert aws.calls == []
    said = capsys.readouterr().out
    assert "At step 50, step 40 is saved: 10 steps, 15m of training would be lost." in said
    assert f"belay cancel {run}" in said


def test_the_task_is_tagged_not_to_save_before_it_is_stopped(aws: Aws, capsys: pytest.CaptureFixture[str]) -> None:
    run = training(aws)
    assert kill(run) is Exit.OK
    assert aws.calls == [f"tag task-0: {END_NOW_TAG}", "stop 0: Killed", f"stop task-0: {KILLED} (belay kill)"]
    assert f"belay watch {run}   belay resume {run}" in capsys.readouterr().out


def test_a_run_that_was_cancelled_and_still_saves_can_be_killed(aws: Aws) -> None:
    assert kill(training(aws, status="ABORTED")) is Exit.OK
    assert aws.calls == [f"tag task-0: {END_NOW_TAG}", f"stop task-0: {KILLED} (belay kill)"]


def test_before_training_there_is_nothing_to_lose(aws: Aws, capsys: pytest.CaptureFixture[str]) -> None:
    assert kill(aws.run(JOB, at=at(0), status="RUNNING")) is Exit.OK
    assert aws.calls == ["stop 0: Killed"]
    assert "nothing would be lost" in capsys.readouterr().out


def test_a_script_that_logs_no_step_is_not_taken_for_one_that_has_not_begun(
    aws: Aws, capsys: pytest.CaptureFixture[str]
) -> None:
    run = aws.run(JOB, at=at(0), status="RUNNING")
    aws.say(Started(run=run, attempt=1, at=at(300), job="digits", processes=1))
    kill(run, confirm=False)
    assert "nothing is saved: all training would be lost" in capsys.readouterr().out
    for event in (step(50, seconds=500), saved(90, seconds=900)):
        aws.say(event.model_copy(update={"run": run}))
    kill(run, confirm=False)
    assert "step 90 is saved: all training since would be lost" in capsys.readouterr().out


def test_a_kill_that_was_refused_does_not_cost_a_later_stop_its_save(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop_execution(**_: Any) -> None:
        raise PermissionError("not allowed")

    monkeypatch.setattr(aws, "stop_execution", stop_execution)
    with pytest.raises(PermissionError):
        kill(training(aws))
    assert aws.calls == [f"tag task-0: {END_NOW_TAG}", f"untag task-0: {END_NOW_TAG}"]


def test_an_attempt_that_began_while_the_person_thought_is_ended_too(aws: Aws) -> None:
    run = training(aws)

    def confirm(_question: str) -> bool:
        aws.tasks.clear()
        aws.task(run)
        aws.task(run)
        return True

    control.kill(run, confirm=confirm, deployment_name="belay")
    assert [call.split(":")[0] for call in aws.calls] == [
        "tag task-0",
        "tag task-1",
        "stop 0",
        "stop task-0",
        "stop task-1",
    ]


def test_a_resume_waits_for_the_certificate_of_a_run_that_still_saves(aws: Aws) -> None:
    run = training(aws, status="ABORTED")
    with pytest.raises(Refused, match=f"no certificate yet.*belay watch {run}"):
        resume(run)
    assert aws.started == []


def test_a_resume_does_not_pass_over_what_a_kept_file_system_holds(aws: Aws) -> None:
    run = training(aws, status="FAILED")
    prefix = aws.cloud.run(run).prefix
    for durability in (Durability.KEPT, Durability.VERIFIED):
        written = certificate(Training.CRASHED, durability)
        aws.objects[prefix.certificate] = written.model_dump_json().encode()
        if durability is Durability.KEPT:
            with pytest.raises(Refused, match="has checkpoints on its kept file system"):
                resume(run)
            assert aws.started == []
    resume(run)
    assert len(aws.started) == 1


def test_a_resume_from_a_step_that_is_not_in_s3_starts_nothing(aws: Aws) -> None:
    with pytest.raises(NoCheckpoint, match="checkpoint-41/ holds no whole checkpoint"):
        resume(training(aws, status="ABORTED"), step=41)
    assert aws.started == []


def test_what_trains_no_longer_cannot_be_killed(aws: Aws) -> None:
    run = training(aws, status="ABORTED")
    aws.tasks.clear()
    with pytest.raises(Refused, match="is not training now: ABORTED"):
        kill(run)
