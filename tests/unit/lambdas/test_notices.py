"""Who is written to learns which run it is, why, what of it is safe, and what to do next."""

from datetime import timedelta
from typing import Any

import pytest

from belay.aws.clients import client
from belay.contract.prices import Rates
from lambdas.safety import pump, sweep
from tools.proofs.fakes.world import ARN, FILE_SYSTEM, JOB, JOB_FILE, NOTICES, PREFIX, RUN, STARTED_AT, World


@pytest.fixture
def training(world: World) -> World:
    """Two dollars an hour; step 10 is saved and proven."""
    rates = Rates(instance_usd_per_hour=1.5, file_system_usd_per_hour=0.5)
    world.accept(JOB_FILE | {"limits": {"budget_usd": 10}}, rates=rates)
    world.scratch()
    world.start_training()
    world.save(10, minute=5)
    world.export(10, minute=5)
    world.now = world.at(6)
    world.ask(pump, {})
    assert world.ledger.last_verified_step == 10 and world.mails == []
    return world


def _names(mail: str, *, reason: str, next_command: str) -> None:
    for words in (f"Run {RUN} of job {JOB}: ", reason, "Last verified step: 10.", f"Next: {next_command}"):
        assert words in mail


def _rounds(world: World, *minutes: float) -> list[int]:
    """How many mails there are after each."""
    told = []
    for minute in minutes:
        world.now = world.at(minute)
        world.ask(pump, {})
        told.append(len(world.mails))
    return told


def test_a_budget_is_told_of_once_when_four_fifths_of_it_are_spent(training: World) -> None:
    assert _rounds(training, 239, 240, 241, 290) == [0, 1, 1, 1]
    _names(training.mails[0], reason="80 % of limits.budget_usd", next_command=f"belay status {RUN}")


def test_a_checkpoint_that_is_not_proven_for_an_hour_is_told_of_once(training: World) -> None:
    training.save(20, minute=10)
    assert _rounds(training, 69, 71, 72, 130) == [0, 1, 1, 1]
    _names(training.mails[0], reason="step 20 was saved over 60 minutes ago", next_command=f"belay status {RUN}")


def test_a_job_that_lets_its_exports_rest_for_long_is_not_late_when_they_begin(world: World) -> None:
    world.accept(max_loss_seconds=3 * 3600.0)
    world.scratch()
    world.start_training()
    world.save(10, minute=5)
    assert _rounds(world, 66, 179, 186) == [0, 0, 1]
    assert "step 10 was saved over 180 minutes ago" in world.mails[0]


def test_what_the_sweep_found_is_told_of_when_its_teardown_begins(training: World) -> None:
    training.states.add(ARN, started_at=STARTED_AT, status="ABORTED")
    for _ in range(2):
        training.ask(sweep, {})
    [mail] = training.mails
    _names(mail, reason=f"its file system {FILE_SYSTEM} was still there", next_command=f"belay watch {RUN}")


def test_a_run_without_a_ledger_is_told_of_as_well(training: World) -> None:
    training.drop(PREFIX.ledger)
    training.states.add(ARN, started_at=STARTED_AT, status="ABORTED")
    training.ask(sweep, {})
    assert "Last verified step: none." in training.mails[0]


def test_whoever_cannot_be_told_now_is_told_in_the_next_round_and_nothing_waits_for_it(training: World) -> None:
    client("sns").delete_topic(TopicArn=NOTICES)
    training.now = training.at(240)
    [served] = training.ask(pump, {})["file_systems"]
    assert served["last_verified_step"] == 10
    client("sns").create_topic(Name=NOTICES.rpartition(":")[2])
    assert _rounds(training, 241) == [1]


def test_what_was_told_stays_in_the_ledger_whatever_is_written_to_it(training: World) -> None:
    training.now = training.at(240)
    training.ask(pump, {})
    told: dict[str, Any] = training.ledger.told
    training.save(30, minute=241)
    training.export(30, minute=241)
    training.now += timedelta(minutes=2)
    training.ask(pump, {})
    assert training.ledger.last_verified_step == 30
    assert training.ledger.told == told != {}
