import json
from datetime import timedelta
from typing import Any

import pytest

from contract.certificate import Certificate
from contract.events import Finished, parse_event
from lambdas import certify, verify
from tests.lambdas.world import ARN, FILE_SYSTEM, JOB, PREFIX, RUN, World

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


def test_a_file_system_that_showed_up_late_corrects_the_first_answer(saved: World) -> None:
    never = {"outcome": "NeverStarted", "reason": "x", "source": "execution"}
    _certify(saved, ended=never, file_system={"id": None, "fate": "never created"})
    answer = _certify(saved, verification=_verified(saved))
    assert answer["error"] == "TrainingCrashed.CheckpointsVerified"


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
