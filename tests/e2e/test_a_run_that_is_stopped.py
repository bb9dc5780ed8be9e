from belay.contract.verdict import Durability, Training
from tools.local_runs.jobs import digits
from tools.local_runs.runs import Deployed


def test_stop_execution_before_training_leaves_nothing_behind(deployed: Deployed) -> None:
    run = deployed.start(digits("stopped-early"))
    run.until(lambda: run.file_systems != [], "the file system is being created")
    deployed.states.stop_execution(executionArn=run.arn)
    run.until_certified()

    assert run.certificate.verdict.durability == Durability.NOTHING_SAVED
    run.until(lambda: run.file_systems == [], "the file system is gone")


def test_without_the_event_the_sweep_tears_down(deployed: Deployed) -> None:
    events = deployed.cloud.client("events")
    [rescue] = [rule["Name"] for rule in events.list_rules()["Rules"] if "Rescue" in rule["Name"]]
    events.disable_rule(Name=rescue)
    try:
        run = deployed.start(digits("no-event", steps=100_000, every="20 steps"))
        run.until_one_is_verified()
        deployed.states.stop_execution(executionArn=run.arn)
        run.until_certified()
    finally:
        events.enable_rule(Name=rescue)

    verdict = run.certificate.verdict
    assert (verdict.training, verdict.durability) == (Training.STOPPED, Durability.VERIFIED)
    run.until(lambda: run.file_systems == [], "the file system is gone")
    assert run.living_tasks == []
