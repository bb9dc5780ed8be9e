from typing import Literal

import pytest

from belay.contract import tags
from belay.contract.verdict import Durability, Training
from tools.local_cloud.faults import ExportFails
from tools.local_runs.jobs import digits
from tools.local_runs.runs import Deployed

How = Literal["failed", "skipped"]


@pytest.mark.parametrize("how", ["failed", "skipped"])
def test_an_export_that_fails_once_is_repeated(deployed: Deployed, how: How) -> None:
    # Saved only at the end, so that the teardown's export is the first.
    job = digits(f"export-{how}-once", every="1000 steps")
    run = deployed.start(job, faults=(ExportFails(how=how, times=1),)).finish()

    assert run.status == "SUCCEEDED", run.story()
    assert run.verified_steps == [40]
    assert run.file_systems == []


@pytest.mark.parametrize("how", ["failed", "skipped"])
def test_when_the_export_is_not_verified_the_file_system_is_kept_with_the_reason(deployed: Deployed, how: How) -> None:
    run = deployed.start(digits(f"export-{how}"), faults=(ExportFails(how=how),)).finish()

    assert run.status == "FAILED"
    assert run.error == "TrainingCompleted.CheckpointsKept", run.story()
    verdict = run.certificate.verdict
    assert (verdict.training, verdict.durability) == (Training.COMPLETED, Durability.KEPT)
    [kept] = run.file_systems
    labels = {tag["Key"]: tag["Value"] for tag in kept["Tags"]}
    assert labels[tags.STATE] == tags.State.KEPT
    assert labels[tags.KEPT_WHY]

    # What the notice asks a person to do: remove the cause, and start a teardown.
    deployed.cloud.clear_faults()
    deployed.tear_down(run.arn)
    run.until(lambda: run.certificate.verdict.durability == Durability.VERIFIED, "this teardown verifies all")
    assert run.file_systems == []
    assert run.verified_steps[-1] == 40
