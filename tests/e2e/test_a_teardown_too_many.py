"""A teardown that is not needed: refused with a clear reason while the run lives, without effect when it is over."""

import json
from typing import Any

from belay.contract.certificate import AskedBy
from tools.local_runs.jobs import script
from tools.local_runs.runs import Deployed, Run
from tools.proofs.chaos.running import DATASET, upload_training


def started(deployed: Deployed, run: Run, *, name: str) -> str:
    """As the rescue rule starts one for each delivery of an event."""
    return deployed.tear_down(run.arn, name=name, asked_by=AskedBy.RESCUE)


def ended(deployed: Deployed, run: Run, arn: str) -> dict[str, Any]:
    def described() -> dict[str, Any]:
        return dict(deployed.states.describe_execution(executionArn=arn))

    run.until(lambda: described()["status"] != "RUNNING", "the teardown ends")
    return described()


def test_a_teardown_is_refused_while_the_run_lives_and_changes_nothing_when_it_is_over(deployed: Deployed) -> None:
    upload_training(deployed)
    job = script("too-many", "python", "data/small_training.py", dataset={"s3": DATASET})
    run = deployed.start(job)
    run.until(lambda: run.file_systems != [], "the file system is being created")
    refused = ended(deployed, run, started(deployed, run, name="too-early"))
    assert (refused["status"], refused["error"]) == ("FAILED", "RunStillAlive")

    run.finish()
    assert run.status == "SUCCEEDED", run.story()
    certificate = run.certificate
    again = [started(deployed, run, name=f"replayed-{number}") for number in range(2)]
    for arn in again:
        late = ended(deployed, run, arn)
        assert late["status"] == "SUCCEEDED"
        assert json.loads(late["output"])["error"] == certificate.verdict.error
    assert run.certificate == certificate
