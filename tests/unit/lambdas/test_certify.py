import json
from datetime import datetime, timedelta
from typing import Any

import pytest

from belay.contract.certificate import Certificate, WorkLost
from belay.contract.events import Finished, Step, parse_event
from belay.contract.prices import Rates
from belay.policy import judging
from lambdas.teardown import certify, verify
from tools.proofs.fakes.world import ARN, BUCKET, FILE_SYSTEM, JOB, PREFIX, RUN, World, checksum

CRASHED = {"outcome": "Crashed", "reason": "exit code 1", "source": "task"}
ABORTED = {"outcome": "Stopped", "reason": "the execution was stopped", "source": "execution"}
COMPLETED = {"outcome": "Completed", "reason": "exit code 0", "source": "task"}


def _question(world: World, **changes: Any) -> dict[str, Any]:
    question = {
        "execution_arn": ARN,
        "run": RUN,
        "job": JOB,
        "started_at": "2026-11-21T02:44:55.123Z",
        "ended": CRASHED,
        "file_system": {"id": FILE_SYSTEM, "fate": "deleted"},
        "verification": None,
    }
    return question | changes


def _certify(world: World, **changes: Any) -> dict[str, Any]:
    world.now += timedelta(seconds=10)
    return world.ask(certify, _question(world, **changes))


def _verified(world: World) -> dict[str, Any]:
    return world.ask(verify, {"job": JOB, "run": RUN, "exported": True})


def _certificate(world: World) -> Certificate:
    return Certificate.model_validate_json(world.body(PREFIX.certificate))


@pytest.fixture
def saved(world: World) -> World:
    world.start_training()
    world.save(10, minute=10)
    world.export(10, minute=10)
    return world


def test_both_answers_are_given_and_written_down(saved: World) -> None:
    answer = _certify(saved, verification=_verified(saved))
    assert answer == {
        "training": "Crashed",
        "durability": "Verified",
        "sentence": "Training crashed (exit code 1). Checkpoints up to step 10 are verified in"
        f" s3://belay-runs/{PREFIX.checkpoints}.",
        "error": "TrainingCrashed.CheckpointsVerified",
        "last_verified_step": 10,
    }
    certificate = _certificate(saved)
    assert certificate.sentence == answer["sentence"]
    assert [entry.step for entry in certificate.checkpoints] == [10]
    assert (certificate.file_system.id, certificate.file_system.fate) == (FILE_SYSTEM, "deleted")
    assert certificate.execution_arn == ARN


@pytest.mark.parametrize(
    ("fate", "whole", "spoke", "durability"),
    [
        ("deleted", True, True, "Verified"),
        ("deleted", None, False, "NothingSaved"),
        ("deleted", True, False, "NothingSaved"),
        ("deleted", False, True, "Lost"),
        ("kept", False, True, "Kept"),
        ("kept", None, True, "Kept"),
        ("gone", True, True, "Verified"),
        ("gone", None, True, "Lost"),
        ("gone", None, False, "NothingSaved"),
        ("never created", None, False, "NothingSaved"),
    ],
)
def test_durability_follows_from_proof_and_fate(
    world: World, fate: str, whole: bool | None, spoke: bool, durability: str
) -> None:
    if spoke:
        world.start_training()
        world.save(10, minute=10)
    if whole and spoke:
        world.export(10, minute=10)
        _verified(world)
    verification = None if whole is None else {"whole": whole}
    answer = _certify(world, file_system={"id": None, "fate": fate}, verification=verification)
    assert answer["durability"] == durability


@pytest.mark.parametrize(("spoke", "fate"), [(True, "deleted"), (False, "never created")])
def test_a_file_system_that_nobody_finds_was_there_if_anything_was_said_on_it(
    world: World, spoke: bool, fate: str
) -> None:
    if spoke:
        world.start_training()
    _certify(world, file_system={"id": None, "fate": "gone"})
    assert _certificate(world).file_system.fate == fate


# ---- how training ended


def test_an_aborted_run_whose_trainer_never_spoke_never_started(world: World) -> None:
    answer = _certify(world, ended=ABORTED, file_system={"id": None, "fate": "gone"})
    assert (answer["training"], answer["durability"]) == ("NeverStarted", "NothingSaved")


def test_a_run_stopped_after_its_training_had_finished_is_completed(saved: World) -> None:
    saved.say(Finished(at=saved.at(11), run=RUN, attempt=1, step=10))
    answer = _certify(saved, ended=ABORTED, verification=_verified(saved))
    assert answer["training"] == "Completed"
    assert answer["sentence"].startswith("Training completed (it had finished when the execution was stopped).")


def test_a_training_that_finished_is_completed_though_the_reply_about_its_task_was_lost(saved: World) -> None:
    saved.say(Finished(at=saved.at(11), run=RUN, attempt=1, step=10))
    lost = judging.of_task("SdkClientException", "the reply was lost").model_dump(mode="json")
    answer = _certify(saved, ended=lost, verification=_verified(saved))
    assert answer["error"] == "TrainingCompleted.CheckpointsVerified"


def test_a_run_of_which_nothing_is_on_record_is_certified_all_the_same(world: World) -> None:
    world.start_training()
    answer = _certify(world, ended=None)
    assert answer["sentence"].startswith("Training crashed (how it ended is not on record).")


# ---- more than one teardown


def test_a_second_teardown_changes_nothing(saved: World) -> None:
    first = _certify(saved, verification=_verified(saved))
    certificate, events = saved.body(PREFIX.certificate), saved.body(PREFIX.events)
    again = _certify(saved, ended=ABORTED, file_system={"id": None, "fate": "gone"}, verification={"whole": False})
    assert again == first
    assert (saved.body(PREFIX.certificate), saved.body(PREFIX.events)) == (certificate, events)


def test_a_kept_file_system_that_is_deleted_later_gets_a_new_certificate(saved: World) -> None:
    saved.save(20, minute=20)
    kept = _certify(saved, ended=COMPLETED, file_system={"id": FILE_SYSTEM, "fate": "kept"}, verification=None)
    assert kept["error"] == "TrainingCompleted.CheckpointsKept"

    saved.export(20, minute=20)
    failed = {"outcome": "Crashed", "reason": "TrainingCompleted.CheckpointsKept", "source": "execution"}
    deleted = _certify(saved, ended=failed, verification=_verified(saved))
    assert deleted["error"] == "TrainingCompleted.CheckpointsVerified"
    assert deleted["sentence"].startswith("Training completed (exit code 0). Checkpoints up to step 20")
    assert _certificate(saved).file_system.fate == "deleted"


def test_a_kept_file_system_is_not_talked_away(saved: World) -> None:
    _certify(saved, file_system={"id": FILE_SYSTEM, "fate": "kept"})
    _certify(saved, file_system={"id": None, "fate": "never created"})
    assert _certificate(saved).file_system.fate == "kept"


def test_an_empty_file_system_that_was_kept_and_is_gone_now_is_not_called_kept_for_ever(world: World) -> None:
    _certify(world, file_system={"id": FILE_SYSTEM, "fate": "kept"}, verification=None)
    _certify(world, file_system={"id": None, "fate": "gone"}, verification={"whole": True})
    end = _certificate(world).file_system
    assert (end.fate, end.id) == ("deleted", FILE_SYSTEM)


def test_what_was_proven_before_the_file_system_went_stays_proven(saved: World) -> None:
    """Its teardown was cut off after the deletion; the next finds nothing to export, and so cannot call it whole."""
    _verified(saved)
    answer = _certify(saved, file_system={"id": None, "fate": "gone"}, verification={"whole": False})
    assert answer["durability"] == "Verified"


def test_what_was_called_lost_because_nothing_seemed_to_be_there_may_still_be_proven(saved: World) -> None:
    gone = _certify(saved, file_system={"id": None, "fate": "gone"})
    assert gone["durability"] == "Lost"
    found = _certify(saved, verification=_verified(saved), ended=COMPLETED)
    assert (found["training"], found["durability"], found["last_verified_step"]) == ("Crashed", "Verified", 10)
    assert _certify(saved, file_system={"id": None, "fate": "gone"}) == found, "and stays proven"


def test_a_file_system_that_showed_up_late_corrects_the_first_answer(saved: World) -> None:
    never = {"outcome": "NeverStarted", "reason": "x", "source": "execution"}
    _certify(saved, ended=never, file_system={"id": None, "fate": "never created"})
    answer = _certify(saved, verification=_verified(saved))
    assert answer["error"] == "TrainingCrashed.CheckpointsVerified"


# ---- what else a person wants to know


def _step(world: World, step: int, minute: float) -> None:
    world.say(Step(at=world.at(minute), run=RUN, attempt=1, step=step, total_steps=100))


def test_work_that_no_checkpoint_holds_is_counted_in_steps_in_time_and_in_money(saved: World) -> None:
    saved.accept(rates=Rates(instance_usd_per_hour=1.17, file_system_usd_per_hour=0.23))
    _step(saved, 15, minute=15)
    _step(saved, 19, minute=25)
    _certify(saved, verification=_verified(saved))
    # The checkpoint of step 10 took a second to write; 15 minutes of 1.40 USD an hour came after it.
    assert _certificate(saved).lost == WorkLost(steps=9, minutes=15.0, usd=0.35)


def test_a_completed_run_has_lost_nothing(saved: World) -> None:
    _step(saved, 10, minute=9)
    saved.say(Finished(at=saved.at(11), run=RUN, attempt=1, step=10))
    _certify(saved, ended=COMPLETED, verification=_verified(saved))
    assert _certificate(saved).lost == WorkLost(steps=0, minutes=0.0, usd=None)


def test_steps_that_another_job_prints_in_this_runs_name_are_no_loss_of_it(saved: World) -> None:
    forged = Step(at=saved.at(30), run=RUN, attempt=1, step=9000, total_steps=9000)
    saved.start_training(run="20261121t000000z-00000000", stream="run/trainer/other")
    saved.say(forged, stream="run/trainer/other")
    _certify(saved, verification=_verified(saved))
    assert _certificate(saved).lost == WorkLost(steps=0, minutes=0.0, usd=None)


@pytest.mark.parametrize(
    ("outcome", "reason", "by"),
    [
        ("Completed", "exit code 0", "the training itself"),
        ("Crashed", "exit code 1", "the training itself"),
        ("Stopped", "the execution was stopped", "a request to stop"),
        ("TimedOut", "its time limit passed", "limits.train"),
        ("BudgetSpent", "limits.budget_usd left only what saving takes", "limits.budget_usd"),
        ("Interrupted", "Belay: interruption: Spot takes back i-0", "Spot"),
        ("Interrupted", "Host EC2 (instance i-0) terminated.", "its instance"),
        ("NoCapacity", "no instance took the task within its limit", "no capacity"),
        ("NeverStarted", "the execution was stopped (Person)", "a request to stop"),
        ("NeverStarted", "FSx.BadRequestException: no room", "what failed before training"),
    ],
)
def test_it_says_who_or_what_ended_training(saved: World, outcome: str, reason: str, by: str) -> None:
    _certify(saved, ended={"outcome": outcome, "reason": reason, "source": "task"})
    ended = _certificate(saved).ended
    assert ended is not None
    assert (ended.by, ended.attempts) == (by, 1)
    assert ended.last_heard_at == saved.at(10) + timedelta(milliseconds=5)


@pytest.mark.parametrize(
    ("told", "asked_by"),
    [("the sweep", "the sweep"), ("the rescue", "the rescue"), ("me & you", "a person"), (None, "a person")],
)
def test_it_says_who_had_the_file_system_torn_down(saved: World, told: str | None, asked_by: str) -> None:
    _certify(saved, asked_by=told)
    assert _certificate(saved).asked_by == asked_by


def test_each_checkpoint_names_the_manifest_that_has_its_checksums(saved: World) -> None:
    _certify(saved, verification=_verified(saved))
    [checkpoint] = _certificate(saved).checkpoints
    assert checkpoint.manifest == f"s3://{BUCKET}/{PREFIX.manifest(10)}"
    assert checkpoint.manifest_crc64nvme == checksum(saved.body(PREFIX.manifest(10)))
    assert (checkpoint.files, checkpoint.bytes, checkpoint.proof) == (3, 1050, "crc64nvme")
    assert checkpoint.written_at and checkpoint.exported_at and checkpoint.verified_at


def test_what_became_of_the_file_system_is_told_from_its_creation_to_its_deletion(saved: World) -> None:
    created_at = "2026-11-21T02:46:00Z"
    seen = {"id": FILE_SYSTEM, "created_at": created_at}
    _certify(saved, file_system={**seen, "fate": "kept", "why": "Export: the export task is FAILED"})
    kept = _certificate(saved).file_system
    assert (kept.kept_why, kept.kept_since) == ("Export: the export task is FAILED", saved.now)
    assert kept.deleted_at is None

    _certify(saved, file_system={**seen, "fate": "deleted", "why": ""}, verification=_verified(saved))
    end = _certificate(saved).file_system
    assert (end.fate, end.kept_since, end.kept_why) == ("deleted", kept.kept_since, kept.kept_why)
    assert end.created_at == datetime.fromisoformat(created_at)
    assert end.deleted_at == saved.now


def test_a_certificate_of_an_earlier_version_is_read_and_replaced(saved: World) -> None:
    _certify(saved, file_system={"id": FILE_SYSTEM, "fate": "kept"})
    old = saved.json(PREFIX.certificate)
    for added in ("ended", "lost", "asked_by"):
        del old[added]
    old["file_system"] = {"id": FILE_SYSTEM, "fate": "kept"}
    saved.put(PREFIX.certificate, json.dumps(old))
    _certify(saved, verification=_verified(saved))
    assert _certificate(saved).file_system.fate == "deleted"


# ---- events.jsonl


def test_a_history_that_an_earlier_certify_did_not_come_to_write_is_written_by_the_next(saved: World) -> None:
    _certify(saved, verification=_verified(saved))
    history = saved.body(PREFIX.events)
    saved.drop(PREFIX.events)
    _certify(saved, verification=_verified(saved))
    assert saved.body(PREFIX.events) == history


def test_the_runs_history_is_one_file_in_one_order(saved: World) -> None:
    saved.put(PREFIX.trainer_events, '{"at":"2026-11-21T02:50:00.000Z","run":"r","attempt":1,"kind":"step"}\n{"at":"20')
    _certify(saved, verification=_verified(saved))
    lines = saved.body(PREFIX.events).decode().splitlines()
    moments = [json.loads(line)["at"] for line in lines]
    assert moments == sorted(moments)
    kinds = [json.loads(line)["kind"] for line in lines]
    assert sorted(kinds) == ["certified", "exported", "saved", "started", "step", "verified"]
    assert kinds[:3] == ["started", "step", "saved"]
    last = parse_event.validate_json(next(line for line in lines if "certified" in line))
    assert last.kind == "certified"
    assert last.sentence == _certificate(saved).sentence


def test_a_line_is_never_written_twice_nor_taken_away(saved: World) -> None:
    saved.put(PREFIX.events, '{"at":"2026-11-21T02:44:00.000Z","kind":"from elsewhere"}\n')
    _certify(saved, file_system={"id": FILE_SYSTEM, "fate": "kept"})
    before = saved.body(PREFIX.events).decode().splitlines()
    _certify(saved, verification=_verified(saved))
    after = saved.body(PREFIX.events).decode().splitlines()
    assert set(before) < set(after)
    assert len(set(after)) == len(after)
    assert "from elsewhere" in after[0]


def test_each_certificate_is_counted_by_its_durability(saved: World, capsys: pytest.CaptureFixture[str]) -> None:
    _certify(saved, file_system={"id": FILE_SYSTEM, "fate": "kept"})
    assert '"CheckpointsKept":[1.0]' in capsys.readouterr().out.replace(" ", "")
