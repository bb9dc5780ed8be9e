from typing import Literal

import pytest

from contract import tags
from contract.verdict import Durability, Training
from local_cloud.faults import ExportFails
from tests.workflow.jobs import digits
from tests.workflow.runs import Deployed

How = Literal["failed", "skipped"]


@pytest.mark.parametrize("how", ["failed", "skipped"])
def test_an_export_that_fails_once_is_made_again(deployed: Deployed, how: How) -> None:
    # Saved only at the end, so that the teardown's export is the first.
    job = digits(f"export-{how}-once", every="1000 steps")
    run = deployed.start(job, faults=(ExportFails(how=how, times=1),)).finish()

    assert run.status == "SUCCEEDED", run.story()
    assert run.verified_steps == [40]
    assert run.file_systems == []


@pytest.mark.parametrize("how", ["failed", "skipped"])
def test_without_a_proof_the_file_system_is_kept_and_says_why(deployed: Deployed, how: How) -> None:
    run = deployed.start(digits(f"export-{how}"), faults=(ExportFails(how=how),)).finish()

    assert run.status == "FAILED"
    assert run.error == "TrainingCompleted.CheckpointsKept", run.story()
    verdict = run.certificate.verdict
    assert (verdict.training, verdict.durability) == (Training.COMPLETED, Durability.KEPT)
    [kept] = run.file_systems
    labels = {tag["Key"]: tag["Value"] for tag in kept["Tags"]}
    assert labels[tags.STATE] == tags.State.KEPT
    assert labels[tags.KEPT_WHY]

    _mend_and_tear_down(deployed, run.arn)
    run.until(lambda: run.certificate.verdict.durability == Durability.VERIFIED, "the mended teardown proves it")
    assert run.file_systems == []
    assert run.verified_steps[-1] == 40


def _mend_and_tear_down(deployed: Deployed, execution_arn: str) -> None:
    """What the notice tells a person to do."""
    deployed.cloud.clear_faults()
    teardown = deployed.train_arn.replace("belay-train", "belay-teardown")
    deployed.states.start_execution(stateMachineArn=teardown, input=f'{{"execution_arn": "{execution_arn}"}}')
