import itertools
import json
from datetime import timedelta
from typing import Any

import pytest

from belay.aws import telemetry
from belay.aws.exceptions import PumpFailed
from belay.contract.prices import Rates
from belay.contract.run import run_id
from lambdas.safety import pump
from tools.proofs.fakes.fake import Refused
from tools.proofs.fakes.world import ARN, FILE_SYSTEM, JOB_FILE, NOW, PREFIX, RUN, STARTED_AT, World

OTHER = "fs-00000000000000001"


@pytest.fixture
def training(world: World) -> World:
    world.scratch()
    world.start_training()
    return world


def _pump(world: World) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = world.ask(pump, {})["file_systems"]
    return found


def _finish_export(world: World) -> None:
    world.fsx.tasks[-1]["Lifecycle"] = "SUCCEEDED"
    world.now += timedelta(minutes=1)


def _metric(output: str, name: str) -> list[float]:
    for line in output.splitlines():
        told = json.loads(line) if line.startswith("{") else {}
        if name in told:
            return list(told[name])
    return []


def test_a_new_checkpoint_is_exported_and_then_proven(training: World) -> None:
    training.save(10, minute=58)
    (first,) = _pump(training)
    (task,) = training.fsx.tasks
    assert task["Paths"] == ["run/checkpoints"]
    assert first == {
        "id": FILE_SYSTEM,
        "run": RUN,
        "action": "export",
        "task_id": task["TaskId"],
        "due_steps": [10],
        "last_verified_step": None,
    }

    training.export(10, minute=58)
    _finish_export(training)
    (second,) = _pump(training)
    assert (second["action"], second["last_verified_step"], second["due_steps"]) == ("rest", 10, [])
    assert len(training.fsx.tasks) == 1
    assert training.ledger.entries[0].verified_at == training.now


def test_while_a_task_runs_nothing_else_is_started(training: World) -> None:
    training.save(10, minute=58)
    _pump(training)
    training.save(20, minute=59)
    (answer,) = _pump(training)
    assert (answer["action"], answer["task_id"], answer["due_steps"]) == ("wait", None, [10, 20])
    assert len(training.fsx.tasks) == 1


def test_what_has_arrived_is_proven_though_its_task_still_runs(training: World) -> None:
    training.save(10, minute=58)
    _pump(training)
    training.save(20, minute=59)
    training.export(10, minute=58)
    (answer,) = _pump(training)
    assert (answer["action"], answer["last_verified_step"], answer["due_steps"]) == ("wait", 10, [20])


def test_what_gathered_meanwhile_goes_with_one_task(training: World) -> None:
    training.save(10, minute=50)
    _pump(training)
    training.save(20, minute=58)
    training.save(30, minute=59)
    training.export(10, minute=50)
    _finish_export(training)
    (answer,) = _pump(training)
    assert (answer["action"], answer["last_verified_step"], answer["due_steps"]) == ("export", 10, [20, 30])
    assert len(training.fsx.tasks) == 2


def test_a_green_task_that_did_not_bring_it_all_is_followed_by_another(training: World) -> None:
    training.save(10, minute=58)
    _pump(training)
    training.export(10, minute=58)
    training.drop(f"{PREFIX.checkpoint(10)}optimizer.pt")
    _finish_export(training)
    (answer,) = _pump(training)
    assert (answer["action"], answer["last_verified_step"]) == ("export", None)
    assert len(training.fsx.tasks) == 2
    assert training.ledger.entries[0].problem == "optimizer.pt is missing"


def test_a_checkpoint_that_was_removed_again_is_not_waited_for(training: World) -> None:
    training.save(10, minute=50)
    training.remove(10, minute=58)
    assert _pump(training)[0]["action"] == "rest"
    assert training.fsx.tasks == []


def test_a_pump_that_is_overtaken_by_another_task_leaves_it_alone(training: World) -> None:
    training.save(10, minute=58)
    training.fsx.broken[FILE_SYSTEM] = Refused("DataRepositoryTaskExecuting")
    training.fsx._filtered = lambda asked: FILE_SYSTEM  # type: ignore[method-assign]
    (answer,) = _pump(training)
    assert (answer["action"], answer["task_id"]) == ("export", None)


@pytest.mark.parametrize(
    ("deployment", "state"), [("belay", "empty"), ("belay", "kept"), ("belay-2", "in-use"), ("", "in-use")]
)
def test_only_file_systems_of_this_deployment_that_are_in_use_are_served(
    world: World, deployment: str, state: str
) -> None:
    world.scratch(deployment=deployment, state=state)
    world.start_training()
    world.save(10, minute=58)
    assert _pump(world) == []
    assert world.fsx.tasks == []


@pytest.mark.parametrize("lifecycle", ["CREATING", "DELETING", "FAILED"])
def test_a_file_system_that_cannot_export_is_not_asked_to(world: World, lifecycle: str) -> None:
    world.scratch(lifecycle=lifecycle)
    world.start_training()
    world.save(10, minute=58)
    assert _pump(world) == []


def test_one_runs_trouble_does_not_cost_another_its_export_and_is_not_hidden(training: World) -> None:
    training.scratch(OTHER, run=run_id(f"{ARN}-2", STARTED_AT), minute=-1)
    training.start_training(run=run_id(f"{ARN}-2", STARTED_AT), stream="run/trainer/2")
    training.save(10, minute=58)
    saved = training.saved(10, minute=58).model_copy(update={"run": run_id(f"{ARN}-2", STARTED_AT)})
    training.say(saved, stream="run/trainer/2")
    training.fsx.broken[OTHER] = Refused("InternalServerError", "try later")
    with pytest.raises(PumpFailed, match=OTHER):
        _pump(training)
    assert [task["FileSystemId"] for task in training.fsx.tasks] == [FILE_SYSTEM]


def test_a_file_system_without_its_runs_tags_is_a_failure_that_is_seen(training: World) -> None:
    training.scratch(OTHER)
    training.fsx.file_systems[OTHER]["Tags"] = [
        tag for tag in training.fsx.file_systems[OTHER]["Tags"] if tag["Key"] != "belay:run"
    ]
    with pytest.raises(PumpFailed, match=OTHER):
        _pump(training)


def test_a_file_system_that_is_deleted_meanwhile_is_no_failure(training: World) -> None:
    training.save(10, minute=58)
    training.fsx.broken[FILE_SYSTEM] = Refused("FileSystemNotFound")
    assert _pump(training) == []


def test_lag_is_measured_from_commit_to_proof_and_only_once(
    training: World, capsys: pytest.CaptureFixture[str]
) -> None:
    training.save(10, minute=58)
    _pump(training)
    assert _metric(capsys.readouterr().out, "OldestUnverifiedSeconds") == [pytest.approx(120, abs=1)]

    training.export(10, minute=58)
    _finish_export(training)
    _pump(training)
    output = capsys.readouterr().out
    lag = (NOW + timedelta(minutes=1) - training.at(58)).total_seconds()
    assert _metric(output, "ExportLagSeconds") == [lag]
    assert _metric(output, "OldestUnverifiedSeconds") == [0]

    _pump(training)
    assert _metric(capsys.readouterr().out, "ExportLagSeconds") == []


def test_with_a_loss_allowed_it_exports_only_as_often_as_that_needs_whatever_is_saved_between(
    training: World, capsys: pytest.CaptureFixture[str]
) -> None:
    training.accept(max_loss_seconds=20 * 60)
    exports: list[int] = []
    most_at_risk = 0.0
    # A save each minute; each export is whole in S3 two minutes after it began.
    for minute in range(2, 62):
        training.now = training.at(minute + 0.5)
        training.save(minute, minute=minute)
        if training.fsx.tasks and training.fsx.tasks[-1]["Lifecycle"] == "EXECUTING" and minute >= exports[-1] + 2:
            training.export(exports[-1], minute=exports[-1])
            training.fsx.tasks[-1]["Lifecycle"] = "SUCCEEDED"
        (answer,) = _pump(training)
        if answer["action"] == "export":
            exports.append(minute)
        most_at_risk = max([most_at_risk, *_metric(capsys.readouterr().out, "WorkAtRiskSeconds")])
    # 0.9 * 20 minutes, less the two that an export takes and the round until the next chance.
    assert [later - earlier for earlier, later in itertools.pairwise(exports[1:])] == [15, 15]
    assert 15 * 60 < most_at_risk <= 20 * 60


def test_what_waits_for_its_export_by_plan_is_not_called_late(
    training: World, capsys: pytest.CaptureFixture[str]
) -> None:
    training.accept(max_loss_seconds=20 * 60)
    training.save(10, minute=50)
    _pump(training)
    training.export(10, minute=50)
    _finish_export(training)
    _pump(training)
    training.save(20, minute=61)
    capsys.readouterr()
    training.now += timedelta(minutes=1)
    assert _pump(training)[0]["action"] == "rest"
    assert _metric(capsys.readouterr().out, "OldestUnverifiedSeconds") == [0]


def test_it_measures_how_much_of_a_budget_is_spent(training: World, capsys: pytest.CaptureFixture[str]) -> None:
    training.accept(
        JOB_FILE | {"limits": {"budget_usd": 2.0}}, rates=Rates(instance_usd_per_hour=1.2, file_system_usd_per_hour=0.3)
    )
    training.now = training.at(40)
    _pump(training)
    assert _metric(capsys.readouterr().out, "BudgetSpentPercent") == [pytest.approx(50)]


def test_a_plan_that_cannot_be_read_keeps_no_checkpoint_from_its_export(training: World) -> None:
    training.put(PREFIX.plan, '{"version": "of a later Belay"}')
    training.save(10, minute=50)
    assert _pump(training)[0]["action"] == "export"


def test_without_one_it_exports_each_minute(training: World) -> None:
    training.accept()
    training.save(10, minute=50)
    _pump(training)
    training.export(10, minute=50)
    training.save(20, minute=59)
    _finish_export(training)
    assert _pump(training)[0]["action"] == "export"


def test_more_at_risk_than_is_allowed_is_a_warning(
    training: World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    warned: list[str] = []
    monkeypatch.setattr(telemetry.logger, "warning", lambda text, **_: warned.append(text))
    training.accept(max_loss_seconds=601)
    training.save(10, minute=50)
    training.export(10, minute=50)
    _pump(training)
    assert _metric(capsys.readouterr().out, "WorkAtRiskSeconds") == [pytest.approx(600, abs=1)] and warned == []
    training.now += timedelta(minutes=1)
    _pump(training)
    assert warned == ["more is at risk than max_loss allows"]


def test_a_trainer_that_has_not_said_anything_yet_has_nothing_to_export(world: World) -> None:
    world.scratch()
    assert _pump(world)[0]["action"] == "rest"
    assert world.keys("jobs/") == [PREFIX.pump_state]
