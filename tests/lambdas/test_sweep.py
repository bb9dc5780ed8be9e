import json
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from contract.faults import parse_job
from contract.plan import RunPlan
from contract.tags import State
from lambdas import sweep
from lambdas.sense.exceptions import SweepFailed
from tests.lambdas.world import ARN, BUCKET, FILE_SYSTEM, JOB_FILE, NOW, PREFIX, RUN, STARTED_AT, TEARDOWN, World


@pytest.fixture
def accepted(world: World) -> World:
    plan = RunPlan(
        run=RUN,
        execution_arn=ARN,
        started_at=STARTED_AT,
        bucket=BUCKET,
        prefix=PREFIX.root,
        job=parse_job(JOB_FILE),
        resume=None,
    )
    world.put(PREFIX.plan, plan.model_dump_json())
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


# ---- nothing is there any more, and nobody has said so


def _failed_teardown(world: World, *, error: str = "Lambda.Unknown", status: str = "FAILED") -> None:
    world.states.add(
        f"{TEARDOWN.replace(':stateMachine:', ':execution:')}:first",
        started_at=world.now - timedelta(minutes=5),
        stopDate=world.now,
        status=status,
        error=error,
        input=json.dumps({"execution_arn": ARN}),
    )


@pytest.mark.parametrize("status", ["FAILED", "ABORTED", "TIMED_OUT"])
def test_a_teardown_that_ended_before_it_could_certify_is_gone_back_to(world: World, status: str) -> None:
    _failed_teardown(world, status=status)
    assert _started(world) == []
    tried = []
    for _ in range(3 * 48):
        world.now += timedelta(minutes=30)
        if found := _started(world):
            assert found == [{"id": None, "execution_arn": ARN}]
            tried.append((world.now - NOW) / timedelta(hours=1))
            for one in world.states.executions.values():
                one["status"] = "SUCCEEDED" if one["status"] == "RUNNING" else one["status"]
    # Later and later, and not for ever: after two days a person would have seen it.
    assert tried == [0.5, 1.5, 3.5, 7.5, 15.5, 31.5]


def test_a_teardown_that_was_refused_is_not_gone_back_to(world: World) -> None:
    _failed_teardown(world, error="RunStillAlive")
    world.now += timedelta(hours=1)
    assert _started(world) == []


def test_while_its_file_system_is_there_that_is_what_counts(accepted: World) -> None:
    accepted.scratch(state=State.KEPT, **_since(accepted))
    accepted.states.add(ARN, started_at=STARTED_AT, status="FAILED")
    _failed_teardown(accepted)
    accepted.now += timedelta(hours=1)
    assert _started(accepted) == [{"id": FILE_SYSTEM, "execution_arn": ARN}]


def _since(world: World) -> dict[str, Any]:
    return {"kept-since": world.now.isoformat()}
