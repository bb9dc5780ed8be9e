import json
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from belay.aws import executions
from belay.aws.exceptions import SweepFailed
from belay.contract.tags import State
from lambdas.safety import sweep
from lambdas.teardown import certify
from tools.proofs.fakes.fake import HttpAnswer, answering
from tools.proofs.fakes.world import ARN, FILE_SYSTEM, JOB, JOB_FILE, NOW, RUN, STARTED_AT, TEARDOWN, World


@pytest.fixture
def accepted(world: World) -> World:
    world.accept()
    return world


def _started(world: World) -> list[dict[str, Any]]:
    started: list[dict[str, Any]] = world.ask(sweep, {})["started"]
    return started


@pytest.mark.parametrize("status", ["ABORTED", "FAILED", "TIMED_OUT", "SUCCEEDED"])
@pytest.mark.parametrize("lifecycle", ["CREATING", "AVAILABLE", "FAILED", "MISCONFIGURED"])
def test_whatever_outlived_its_execution_is_torn_down(accepted: World, status: str, lifecycle: str) -> None:
    accepted.scratch(lifecycle=lifecycle)
    accepted.states.add(ARN, started_at=STARTED_AT, status=status)

    assert _started(accepted) == [{"id": FILE_SYSTEM, "execution_arn": ARN}]
    [teardown] = [one for one in accepted.states.executions.values() if one["stateMachineArn"] == TEARDOWN]
    assert json.loads(teardown["input"]) == {"execution_arn": ARN, "asked_by": "the sweep"}


def test_what_its_execution_still_looks_after_is_left_alone(accepted: World) -> None:
    accepted.scratch()
    accepted.states.add(ARN, started_at=STARTED_AT, status="RUNNING")
    assert _started(accepted) == []


def test_an_execution_that_nobody_remembers_has_ended(accepted: World) -> None:
    accepted.scratch()
    assert len(_started(accepted)) == 1


def test_where_a_teardown_is_at_work_no_second_one_is_started(accepted: World) -> None:
    accepted.scratch()
    accepted.states.add(ARN, started_at=STARTED_AT, status="ABORTED")
    for name, arn in (("other", "arn:of:another"), ("rescue", ARN)):
        execution = f"{TEARDOWN.replace(':stateMachine:', ':execution:')}:{name}"
        accepted.states.add(execution, started_at=STARTED_AT, input=json.dumps({"execution_arn": arn}))
    assert _started(accepted) == []


def test_a_teardown_that_ended_badly_is_tried_again_half_an_hour_later(accepted: World) -> None:
    accepted.scratch()
    accepted.states.add(ARN, started_at=STARTED_AT, status="FAILED")
    assert len(_started(accepted)) == 1
    for one in accepted.states.executions.values():
        one["status"] = "FAILED"

    accepted.now += timedelta(minutes=5)
    assert _started(accepted) == []
    accepted.now += timedelta(minutes=30)
    assert len(_started(accepted)) == 1


def test_what_is_kept_is_tried_again_after_pauses_that_double_and_then_for_ever(accepted: World) -> None:
    since: dict[str, Any] = {"kept-since": accepted.now.isoformat()}
    accepted.scratch(state=State.KEPT, **since)
    accepted.states.add(ARN, started_at=STARTED_AT, status="FAILED")
    tried: list[float] = []
    first, last = accepted.now, accepted.now + timedelta(days=8)
    while accepted.now < last:
        if _started(accepted):
            tried.append((accepted.now - first) / timedelta(hours=1))
            for one in accepted.states.executions.values():
                one["status"] = "FAILED"
        accepted.now += timedelta(minutes=30)
    pauses = [after - before for before, after in pairwise([0.0, *tried])]
    assert pauses == [0.5, 1, 2, 4, 8, 16, 32, 32, 32, 32, 32]


def test_two_sweeps_at_once_start_one_teardown(accepted: World) -> None:
    accepted.scratch()
    accepted.states.add(ARN, started_at=STARTED_AT, status="ABORTED")
    assert len(_started(accepted)) == 1
    for one in accepted.states.executions.values():
        if one["stateMachineArn"] == TEARDOWN:
            one["status"] = "SUCCEEDED"
    # The second had listed the running teardowns before the first one started its own.
    assert _started(accepted) == []


def test_how_many_are_kept_is_measured(accepted: World, capsys: pytest.CaptureFixture[str]) -> None:
    accepted.scratch(state=State.KEPT)
    accepted.scratch("fs-00000000000000001")
    accepted.states.add(ARN, started_at=STARTED_AT)
    _started(accepted)
    assert '"KeptFileSystems":[1.0]' in capsys.readouterr().out.replace(" ", "")


def test_one_that_cannot_be_understood_does_not_keep_the_others(accepted: World) -> None:
    accepted.scratch("fs-00000000000000001", job="unknown")
    accepted.scratch()
    accepted.states.add(ARN, started_at=STARTED_AT, status="ABORTED")

    with pytest.raises(SweepFailed, match=r"fs-00000000000000001: its plan jobs/unknown/"):
        _started(accepted)
    assert any(one["stateMachineArn"] == TEARDOWN for one in accepted.states.executions.values())


def test_a_plan_that_is_not_there_is_said_to_be_missing_whatever_s3_answers(accepted: World) -> None:
    """AccessDenied, to whoever may not list the whole bucket."""
    accepted.scratch(job="unknown")
    refused = {"Error": {"Code": "AccessDenied", "Message": "Access Denied"}, "ResponseMetadata": {}}

    def refuse(**_: Any) -> tuple[HttpAnswer, dict[str, Any]]:
        return HttpAnswer(403), refused

    with (
        answering(accepted.s3, "GetObject", refuse),
        pytest.raises(SweepFailed, match="is not in S3, so its execution is not known"),
    ):
        _started(accepted)


def test_another_deployments_file_systems_are_not_ours_to_sweep(accepted: World) -> None:
    accepted.scratch(deployment="other")
    assert _started(accepted) == []


@pytest.mark.parametrize(("state", "orphans"), [(State.IN_USE, 1), (State.KEPT, 0)])
def test_what_is_tried_again_is_no_orphan(
    accepted: World, capsys: pytest.CaptureFixture[str], state: State, orphans: int
) -> None:
    accepted.scratch(state=state, **_since(accepted))
    accepted.states.add(ARN, started_at=STARTED_AT, status="FAILED")
    accepted.now += timedelta(hours=1)
    assert len(_started(accepted)) == 1
    assert f'"OrphansFound":[{orphans}.0]' in capsys.readouterr().out.replace(" ", "")


# ---- nothing is there, and nobody has said so


def _ended_badly(world: World, *, status: str = "ABORTED") -> None:
    world.states.add(ARN, started_at=STARTED_AT, status=status, stopDate=world.now, input=json.dumps(JOB_FILE))


def _failed_teardown(
    world: World, *, error: str = "Lambda.Unknown", status: str = "FAILED", asked: str | None = None
) -> None:
    world.states.add(
        f"{TEARDOWN.replace(':stateMachine:', ':execution:')}:first",
        started_at=world.now - timedelta(minutes=5),
        stopDate=world.now,
        status=status,
        error=error,
        input=asked or json.dumps({"execution_arn": ARN}),
    )


@pytest.mark.parametrize("status", ["FAILED", "ABORTED", "TIMED_OUT"])
def test_a_run_that_ended_before_it_had_a_file_system_is_certified_without_any_event(
    accepted: World, status: str
) -> None:
    _ended_badly(accepted, status=status)
    # The rescue has its turn first.
    assert _started(accepted) == []
    accepted.now += timedelta(minutes=30)
    assert _started(accepted) == [{"id": None, "execution_arn": ARN}]


@pytest.mark.parametrize("status", ["FAILED", "ABORTED", "TIMED_OUT"])
def test_a_teardown_that_ended_before_it_could_certify_is_gone_back_to(accepted: World, status: str) -> None:
    accepted.states.add(ARN, started_at=STARTED_AT, status="SUCCEEDED", input=json.dumps(JOB_FILE))
    _failed_teardown(accepted, status=status)
    assert _started(accepted) == []
    tried = []
    for _ in range(3 * 48):
        accepted.now += timedelta(minutes=30)
        if found := _started(accepted):
            assert found == [{"id": None, "execution_arn": ARN}]
            tried.append((accepted.now - NOW) / timedelta(hours=1))
            for one in accepted.states.executions.values():
                one["status"] = "SUCCEEDED" if one["status"] == "RUNNING" else one["status"]
    # Later and later, and not for ever: after two days a person would have seen it.
    assert tried == [0.5, 1.5, 3.5, 7.5, 15.5, 31.5]


@pytest.mark.parametrize(("fate", "is_due"), [("never created", False), ("deleted", False), ("kept", True)])
def test_what_is_certified_rests_unless_it_speaks_of_a_file_system_that_is_gone(
    accepted: World, fate: str, is_due: bool
) -> None:
    _ended_badly(accepted)
    _failed_teardown(accepted)
    question = {"execution_arn": ARN, "run": RUN, "job": JOB, "started_at": STARTED_AT.isoformat(), "ended": None}
    accepted.ask(certify, {**question, "file_system": {"fate": fate}, "verification": None})
    accepted.now += timedelta(hours=1)
    assert bool(_started(accepted)) is is_due


def test_a_job_that_was_refused_needs_no_certificate(world: World) -> None:
    _ended_badly(world, status="FAILED")
    world.now += timedelta(hours=1)
    assert _started(world) == []


@pytest.mark.parametrize("mistyped", ["{}", '{"execution_arn": "arn:of:nothing"}'])
def test_a_teardown_that_a_person_mistyped_keeps_nobody_from_a_certificate(accepted: World, mistyped: str) -> None:
    _ended_badly(accepted)
    _failed_teardown(accepted, asked=mistyped)
    accepted.now += timedelta(minutes=30)
    assert _started(accepted) == [{"id": None, "execution_arn": ARN}]


def test_one_run_that_cannot_be_looked_after_does_not_keep_the_others(
    accepted: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = ARN.replace("first", "other")
    accepted.states.add(other, started_at=STARTED_AT, status="FAILED", stopDate=accepted.now, input="{}")
    _ended_badly(accepted)
    look = executions.describe

    def describe(states: Any, arn: str) -> Any:
        if arn == other:
            raise RuntimeError("no answer")
        return look(states, arn)

    monkeypatch.setattr(executions, "describe", describe)
    accepted.now += timedelta(minutes=30)
    with pytest.raises(SweepFailed, match="other: no answer"):
        _started(accepted)
    assert any(one["stateMachineArn"] == TEARDOWN for one in accepted.states.executions.values())


def test_a_teardown_that_was_refused_is_not_gone_back_to(accepted: World) -> None:
    accepted.states.add(ARN, started_at=STARTED_AT, input=json.dumps(JOB_FILE))
    _failed_teardown(accepted, error="RunStillAlive")
    accepted.now += timedelta(hours=1)
    assert _started(accepted) == []


def test_one_that_ran_for_days_and_stopped_just_now_is_not_hidden_by_younger_ones(accepted: World) -> None:
    accepted.states.add(
        ARN.replace("first", "younger"), started_at=accepted.now, status="FAILED", stopDate=NOW - timedelta(days=3)
    )
    _ended_badly(accepted, status="FAILED")
    accepted.now += timedelta(minutes=30)
    assert _started(accepted) == [{"id": None, "execution_arn": ARN}]


def test_while_its_file_system_is_there_that_is_what_counts(accepted: World) -> None:
    accepted.scratch(state=State.KEPT, **_since(accepted))
    accepted.states.add(ARN, started_at=STARTED_AT, status="FAILED")
    _failed_teardown(accepted)
    accepted.now += timedelta(hours=1)
    assert _started(accepted) == [{"id": FILE_SYSTEM, "execution_arn": ARN}]


def _since(world: World) -> dict[str, Any]:
    return {"kept-since": world.now.isoformat()}
