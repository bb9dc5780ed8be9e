import json
from pathlib import Path

import pytest

from tools.local_runs.jobs import digits
from tools.local_runs.runs import Deployed, Run


@pytest.fixture(scope="module")
def succeeded(uploaded: Deployed) -> Run:
    """A run without faults; tests only read it."""
    return uploaded.start(digits("success")).finish()


def test_checkpoints_are_in_s3_verified_and_the_file_system_is_gone(deployed: Deployed, succeeded: Run) -> None:
    assert succeeded.status == "SUCCEEDED", succeeded.story()
    verdict = json.loads(succeeded.described["output"])
    assert (verdict["training"], verdict["durability"]) == ("Completed", "Verified")
    assert succeeded.certificate.verdict.last_verified_step == 40
    assert succeeded.verified_steps[-1] == 40
    assert succeeded.file_systems == []
    assert succeeded.living_tasks == []


def test_an_exported_checkpoint_is_an_ordinary_one(deployed: Deployed, succeeded: Run, tmp_path: Path) -> None:
    from transformers import AutoModelForImageClassification

    prefix = f"{succeeded.prefix}checkpoints/checkpoint-40/"
    for key in deployed.keys(prefix):
        if not key.endswith("/"):
            (tmp_path / key.removeprefix(prefix)).write_bytes(deployed.object(key))

    model = AutoModelForImageClassification.from_pretrained(tmp_path)
    assert model.config.num_labels == 10


def test_events_of_the_whole_run_are_recorded_in_order(deployed: Deployed, succeeded: Run) -> None:
    kinds = [event["kind"] for event in succeeded.events]
    assert kinds.index("started") < kinds.index("saved") < kinds.index("finished")
    assert {"mounted", "step", "exported", "verified"} <= set(kinds)
    assert all(event["run"] == succeeded.run for event in succeeded.events)


def test_checkpoints_are_verified_while_training_still_runs(deployed: Deployed) -> None:
    # The trainer's clock is not compressed: its first save comes after a tenth of what is left of the three minutes.
    run = deployed.start(digits("pumped", steps=100_000, checkpoint={"max_loss": "3m"}))
    run.until_one_is_verified()
    assert run.status == "RUNNING"
    assert json.loads(deployed.object(f"{run.prefix}run.json"))["max_loss_seconds"] == 180
    assert all(entry.asked_at for entry in run.ledger.entries if entry.verified_at)
    deployed.states.stop_execution(executionArn=run.arn)
    run.until_certified()
