"""Teardowns that nobody needed: refused with a clear reason while the run lives, and without effect when it is over."""

import json
from typing import Any

from benchmarks.chaos.__main__ import SCRIPT
from benchmarks.chaos.running import DATASET
from contract.certificate import AskedBy
from tests.workflow.jobs import script
from tests.workflow.runs import Deployed, Run


def started(deployed: Deployed, run: Run, *, name: str) -> str:
    """As the rescue rule starts one for an event, however often that is delivered."""
    machine = deployed.train_arn.replace("belay-train", "belay-teardown")
    given = json.dumps({"execution_arn": run.arn, "asked_by": AskedBy.RESCUE})
    return str(deployed.states.start_execution(stateMachineArn=machine, name=name, input=given)["executionArn"])


def ended(deployed: Deployed, run: Run, arn: str) -> dict[str, Any]:
    def described() -> dict[str, Any]:
        return dict(deployed.states.describe_execution(executionArn=arn))

    run.until(lambda: described()["status"] != "RUNNING", "the teardown ends")
    return described()


def test_a_teardown_too_many_is_refused_while_the_run_lives_and_changes_nothing_after_it(deployed: Deployed) -> None:
    deployed.s3.put_object(Bucket=deployed.bucket, Key=f"{DATASET}{SCRIPT.name}", Body=SCRIPT.read_bytes())
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
