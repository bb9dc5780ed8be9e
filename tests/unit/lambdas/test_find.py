import json
from typing import Any

import pytest

from belay.contract.ledger import Ledger, LedgerEntry
from lambdas.teardown import certify, find
from lambdas.training import accept
from tools.proofs.fakes.world import ARN, FILE_SYSTEM, JOB, JOB_FILE, PREFIX, RUN, STARTED_AT, World

OTHER_ARN = ARN.replace("first", "second")


def _execution(world: World, status: str = "RUNNING", **more: Any) -> None:
    world.states.add(ARN, started_at=STARTED_AT, status=status, input=json.dumps(JOB_FILE), **more)


def _find(world: World, arn: str = ARN) -> dict[str, Any]:
    return world.ask(find, {"execution_arn": arn})


def test_all_that_is_left_of_a_living_run_is_found(world: World) -> None:
    _execution(world)
    world.scratch()
    task = world.ecs.add("one", run=RUN)
    world.ecs.add("two", run="another")
    assert _find(world) == {
        "known": True,
        "run": RUN,
        "job": JOB,
        "started_at": "2026-11-21T02:44:55.123000Z",
        "ended": None,
        "file_system": {
            "id": FILE_SYSTEM,
            "state": "in-use",
            "created_at": "2026-11-21T02:44:55.123000Z",
            "kept_since": None,
            "usd_a_day": None,
        },
        "tasks": [task],
        "certified": False,
        "verdict": None,
        "export_limit_seconds": 21600,
        "last_verified_step": None,
    }


def test_another_runs_or_another_deployments_file_system_is_never_found(world: World) -> None:
    _execution(world)
    world.put(PREFIX.plan, b"{}")
    world.scratch("fs-00000000000000001", execution="0" * 16)
    world.scratch("fs-00000000000000002", deployment="belay-2")
    world.scratch("fs-00000000000000003", execution="")
    assert _find(world)["file_system"] is None


@pytest.mark.parametrize("on_record", [True, False])
def test_a_file_system_that_is_older_than_the_run_it_names_is_left_alone(world: World, on_record: bool) -> None:
    """Our tags on somebody else's file system must not cost them what is on it."""
    if on_record:
        _execution(world, status="ABORTED")
    world.put(PREFIX.plan, b"{}")
    world.scratch("fs-00000000000000001", minute=-6)
    world.scratch("fs-00000000000000002", minute=1)

    assert _find(world)["file_system"]["id"] == "fs-00000000000000002"


def test_it_is_found_on_a_later_page(world: World) -> None:
    _execution(world)
    for number in range(4):
        world.scratch(f"fs-0000000000000000{number}", execution="0" * 16)
    world.scratch()
    assert _find(world)["file_system"]["id"] == FILE_SYSTEM


def test_of_several_with_the_same_tag_the_one_that_may_hold_work_comes_first(world: World) -> None:
    _execution(world)
    world.scratch("fs-00000000000000001", state="empty", minute=0)
    world.scratch("fs-00000000000000002", state="kept", minute=2)
    world.scratch("fs-00000000000000003", state="in-use", minute=1)
    assert _find(world)["file_system"]["id"] == "fs-00000000000000003"


def test_a_file_system_without_its_state_counts_as_holding_work(world: World) -> None:
    _execution(world)
    world.scratch()
    described = world.fsx.file_systems[FILE_SYSTEM]
    described["Tags"] = [tag for tag in described["Tags"] if tag["Key"] != "belay:state"]
    assert _find(world)["file_system"]["state"] == "in-use"


@pytest.mark.parametrize(
    ("status", "more", "outcome", "reason"),
    [
        ("ABORTED", {}, "Stopped", "the execution was stopped"),
        ("TIMED_OUT", {}, "TimedOut", "the execution ran out of time"),
        ("FAILED", {"error": "States.Runtime", "cause": "x"}, "Crashed", "the execution failed (States.Runtime: x)"),
        ("SUCCEEDED", {}, "Completed", "the execution succeeded"),
    ],
)
def test_an_ended_execution_says_how_training_ended(
    world: World, status: str, more: dict[str, str], outcome: str, reason: str
) -> None:
    _execution(world, status, **more)
    world.scratch()
    assert _find(world)["ended"] == {"outcome": outcome, "reason": reason, "source": "execution"}


def test_a_file_system_that_a_task_has_mounted_is_not_empty_whatever_its_tag_still_says(world: World) -> None:
    """A tag may be seen late. The empty one is deleted without an export."""
    _execution(world, "ABORTED")
    world.scratch(state="empty")
    world.ecs.add("one", run=RUN)
    found = _find(world)
    assert (found["file_system"]["state"], found["ended"]["outcome"]) == ("in-use", "Stopped")


def test_training_never_started_where_the_file_system_is_proven_empty(world: World) -> None:
    _execution(world, "ABORTED")
    world.scratch(state="empty", lifecycle="CREATING")
    assert _find(world)["ended"]["outcome"] == "NeverStarted"


def test_an_execution_that_is_being_redriven_is_alive(world: World) -> None:
    _execution(world, "PENDING_REDRIVE")
    world.scratch()
    assert _find(world)["ended"] is None


def test_an_execution_too_old_to_be_on_record_is_known_by_its_file_system(world: World) -> None:
    world.scratch()
    answer = _find(world)
    assert (answer["known"], answer["run"], answer["job"]) == (True, RUN, JOB)
    assert answer["started_at"] == "2026-11-21T02:44:55Z"
    assert answer["ended"] == {"outcome": "Crashed", "reason": "how it ended is not on record", "source": "execution"}


def test_an_execution_that_nobody_remembers_and_that_left_nothing_is_not_known(world: World) -> None:
    answer = _find(world)
    assert answer["known"] is False
    assert answer["file_system"] is None


@pytest.mark.parametrize("text", ["", "[]", "not json", '{"name": "../../x"}', '{"name": 1}', '{"name": "refused"}'])
def test_a_refused_job_left_nothing_whatever_its_input(world: World, text: str) -> None:
    world.states.add(ARN, started_at=STARTED_AT, status="FAILED", input=text)
    assert _find(world)["known"] is False


def test_after_everything_is_done_the_certificate_says_so(world: World) -> None:
    _execution(world, "SUCCEEDED")
    world.put(PREFIX.plan, b"{}")
    world.put(PREFIX.certificate, b"{}")
    answer = _find(world)
    assert (answer["known"], answer["certified"], answer["file_system"]) == (True, True, None)
    # It cannot be read, which is no reason to do anything again.
    assert answer["verdict"] is None


def test_who_tears_down_once_more_what_is_over_gets_the_verdict_that_stands(world: World) -> None:
    _execution(world, "SUCCEEDED")
    completed = {"outcome": "Completed", "reason": "exit code 0", "source": "task"}
    question = {"execution_arn": ARN, "run": RUN, "job": JOB, "started_at": STARTED_AT.isoformat(), "ended": completed}
    told = world.ask(certify, {**question, "file_system": {"fate": "deleted"}, "verification": None})
    world.put(PREFIX.plan, b"{}")
    assert _find(world)["verdict"] == told
    assert told["error"] == "TrainingCompleted.CheckpointsNothingSaved"
    # As long as there is a file system, there is more to find out.
    world.scratch()
    assert _find(world)["verdict"] is None


def test_a_certificate_that_says_kept_is_out_of_date_once_the_file_system_is_gone(world: World) -> None:
    _execution(world, "FAILED")
    world.put(PREFIX.plan, b"{}")
    file_system = {"id": FILE_SYSTEM, "fate": "kept", "why": "the export failed"}
    question = {"execution_arn": ARN, "run": RUN, "job": JOB, "started_at": STARTED_AT.isoformat(), "ended": None}
    world.ask(certify, {**question, "file_system": file_system, "verification": None})
    assert _find(world)["certified"] is False
    world.scratch()
    assert _find(world)["certified"] is True


def test_two_executions_of_one_job_do_not_see_each_other(world: World) -> None:
    _execution(world)
    world.scratch()
    world.states.add(OTHER_ARN, started_at=STARTED_AT, input='{"name": "digits"}')
    assert _find(world, OTHER_ARN)["known"] is False


def test_the_exports_limit_is_the_jobs(world: World) -> None:
    _execution(world)
    world.put("datasets/digits/a")
    job = JOB_FILE | {"limits": {"export": "20m"}}
    world.ask(accept, {"job": job, "execution_arn": ARN, "started_at": STARTED_AT.isoformat()})
    assert _find(world)["export_limit_seconds"] == 1200


def test_of_a_kept_one_it_says_since_when_what_it_costs_and_what_is_safe(world: World) -> None:
    _execution(world)
    world.put("datasets/digits/one.png", b"1")
    world.ask(accept, {"job": JOB_FILE, "execution_arn": ARN, "started_at": STARTED_AT.isoformat()})
    entry = LedgerEntry(step=40, verified_at=STARTED_AT)
    world.put(PREFIX.ledger, Ledger(run=RUN, entries=[entry]).model_dump_json())
    since: dict[str, Any] = {"kept-since": "2026-11-21T03:00:00+00:00"}
    world.scratch(state="kept", **since)

    found = _find(world)
    assert found["last_verified_step"] == 40
    assert found["file_system"]["kept_since"] == "2026-11-21T03:00:00Z"
    # 1,200 GiB at 0.14 USD a month.
    assert found["file_system"]["usd_a_day"] == 5.52


def test_a_ledger_that_cannot_be_read_keeps_nobody_from_finding_the_file_system(world: World) -> None:
    _execution(world)
    world.put(PREFIX.ledger, b"torn")
    since: dict[str, Any] = {"kept-since": "yesterday"}
    world.scratch(**since)
    found = _find(world)
    assert (found["last_verified_step"], found["file_system"]["kept_since"]) == (None, None)
