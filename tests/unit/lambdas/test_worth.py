"""What a run was worth is measured when it is certified, and never in its way."""

import json
from datetime import timedelta
from typing import Any

import pytest

from belay.contract.certificate import Certificate
from belay.contract.events import Step
from belay.contract.prices import Rates
from lambdas.teardown import certify, verify
from tools.proofs.fakes.world import ARN, FILE_SYSTEM, JOB, PREFIX, RUN, STARTED_AT, World


@pytest.fixture
def trained(world: World) -> World:
    """It trains from minute 1 to 13, a step a minute, at two dollars an hour; what it had at minute 10 is proven."""
    world.accept(rates=Rates(instance_usd_per_hour=1.5, file_system_usd_per_hour=0.5))
    world.start_training()
    world.save(9, minute=10)
    world.export(9, minute=10)
    steps = [
        Step(at=world.at(1 + step), run=RUN, attempt=1, step=step, total_steps=100, step_seconds=60.0)
        for step in range(1, 13)
    ]
    world.put(PREFIX.trainer_events, "".join(f"{step.line()}\n" for step in steps))
    return world


def _certify(world: World) -> dict[str, Any]:
    question = {
        "execution_arn": ARN,
        "run": RUN,
        "job": JOB,
        "started_at": STARTED_AT.isoformat(),
        "ended": {"outcome": "Crashed", "reason": "exit code 1", "source": "task"},
        "file_system": {"id": FILE_SYSTEM, "fate": "deleted"},
        "verification": world.ask(verify, {"job": JOB, "run": RUN, "exported": True}),
    }
    return world.ask(certify, question)


def _measured(output: str) -> dict[str, list[float]]:
    told = [json.loads(line) for line in output.splitlines() if line.startswith("{") and "_aws" in line]
    return {name: value for one in told for name, value in one.items() if isinstance(value, list)}


def test_the_share_of_a_run_that_lasts_and_the_most_it_cost_are_measured_once(
    trained: World, capsys: pytest.CaptureFixture[str]
) -> None:
    _certify(trained)
    told = _measured(capsys.readouterr().out)
    certificate = Certificate.model_validate_json(trained.body(PREFIX.certificate))
    wall = certificate.certified_at - STARTED_AT
    assert told["RunUsd"] == [pytest.approx(2 * wall / timedelta(hours=1))]
    assert told["DurableGoodputPercent"] == [pytest.approx(100 * timedelta(minutes=9) / wall, rel=0.01)]

    _certify(trained)
    again = _measured(capsys.readouterr().out)
    assert "CheckpointsVerified" in again and "RunUsd" not in again


def test_a_history_that_nobody_can_measure_keeps_no_run_from_its_certificate(
    trained: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(*_: Any, **__: Any) -> None:
        raise RuntimeError("out of order")

    monkeypatch.setattr(certify, "worth_of", breaks)
    assert _certify(trained)["durability"] == "Verified"
