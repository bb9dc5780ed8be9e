import json
from pathlib import Path

from tests.workflow.jobs import digits
from tests.workflow.runs import Deployed


def test_checkpoints_are_in_s3_verified_and_the_file_system_is_gone(deployed: Deployed) -> None:
    run = deployed.start(digits("success")).finish()

    assert run.status == "SUCCEEDED", run.story()
    verdict = json.loads(run.described["output"])
    assert (verdict["training"], verdict["durability"]) == ("Completed", "Verified")
    assert run.certificate.verdict.last_verified_step == 40
    assert run.verified_steps[-1] == 40
    assert run.file_systems == []
    assert run.living_tasks == []


def test_an_exported_checkpoint_is_an_ordinary_one(deployed: Deployed, tmp_path: Path) -> None:
    from transformers import AutoModelForImageClassification

    run = deployed.start(digits("ordinary")).finish()
    prefix = f"{run.prefix}checkpoints/checkpoint-40/"
    for key in deployed.keys(prefix):
        if not key.endswith("/"):
            (tmp_path / key.removeprefix(prefix)).write_bytes(deployed.object(key))

    model = AutoModelForImageClassification.from_pretrained(tmp_path)
    assert model.config.num_labels == 10


def test_checkpoints_are_verified_while_training_still_runs(deployed: Deployed) -> None:
    # The trainer's clock is not compressed: its first save comes after a tenth of what is left of the three minutes.
    run = deployed.start(digits("pumped", steps=100_000, checkpoint={"max_loss": "3m"}))
    run.until_one_is_verified()
    assert run.status == "RUNNING"
    assert json.loads(deployed.object(f"{run.prefix}run.json"))["max_loss_seconds"] == 180
    assert all(entry.asked_at for entry in run.ledger.entries if entry.verified_at)
    deployed.states.stop_execution(executionArn=run.arn)
    run.until_certified()


def test_events_tell_the_whole_story_in_order(deployed: Deployed) -> None:
    run = deployed.start(digits("story")).finish()
    kinds = [event["kind"] for event in run.events]
    assert kinds.index("started") < kinds.index("saved") < kinds.index("finished")
    assert {"mounted", "step", "exported", "verified"} <= set(kinds)
    assert all(event["run"] == run.run for event in run.events)
