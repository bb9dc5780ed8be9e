from contract.verdict import Durability, Training
from tests.workflow.jobs import digits
from tests.workflow.runs import Deployed


def test_stop_execution_during_training_saves_exports_and_deletes(deployed: Deployed) -> None:
    run = deployed.start(digits("stopped", steps=100_000, every="20 steps"))
    run.until(lambda: run.living_tasks != [] and "Train" in run.states, "training runs")
    run.until(lambda: any(k.endswith("ledger.json") for k in run.keys) and bool(run.verified_steps), "one is verified")

    deployed.states.stop_execution(executionArn=run.arn, error="Person", cause="enough")
    run.until_certified()

    assert run.status == "ABORTED"
    verdict = run.certificate.verdict
    assert (verdict.training, verdict.durability) == (Training.STOPPED, Durability.VERIFIED)
    run.until(lambda: run.file_systems == [], "the file system is gone")
    assert run.living_tasks == []


def test_stop_execution_before_training_leaves_nothing_behind(deployed: Deployed) -> None:
    run = deployed.start(digits("stopped-early"))
    run.until(lambda: run.file_systems != [], "the file system is being created")
    deployed.states.stop_execution(executionArn=run.arn)
    run.until_certified()

    assert run.certificate.verdict.durability == Durability.NOTHING_SAVED
    run.until(lambda: run.file_systems == [], "the file system is gone")
