"""What a person does beside submitting runs: look at them with the AWS CLI, and deploy again."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tools.local_runs.jobs import digits
from tools.local_runs.runs import Deployed
from tools.repository import REPOSITORY


def aws(deployed: Deployed, *words: str) -> Any:
    """The real AWS CLI; only its environment points it to the local cloud."""
    program = Path(sys.executable).parent / "aws"
    done = subprocess.run(
        [str(program), *words, "--output", "json"],
        env=deployed.cloud.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout) if done.stdout.strip() else None


def test_the_aws_cli_starts_follows_and_stops_a_run(deployed: Deployed, tmp_path: Path) -> None:
    job = tmp_path / "job.json"
    job.write_text(json.dumps(digits("by-hand", steps=100_000)))
    machine = ("--state-machine-arn", deployed.train_arn)

    arn = aws(deployed, "stepfunctions", "start-execution", *machine, "--input", f"file://{job}")["executionArn"]
    run = deployed.run_of(arn, digits("by-hand"))
    run.until(lambda: "Train" in run.states, "training begins")

    listed = aws(deployed, "stepfunctions", "list-executions", *machine, "--status-filter", "RUNNING")["executions"]
    assert [one["executionArn"] for one in listed] == [arn]
    history = aws(deployed, "stepfunctions", "get-execution-history", "--execution-arn", arn)["events"]
    assert history[0]["type"] == "ExecutionStarted"
    [file_system] = aws(deployed, "fsx", "describe-file-systems")["FileSystems"]
    assert file_system["LustreConfiguration"]["DeploymentType"] == "SCRATCH_2"

    aws(deployed, "stepfunctions", "stop-execution", "--execution-arn", arn)
    assert aws(deployed, "stepfunctions", "describe-execution", "--execution-arn", arn)["status"] == "ABORTED"
    run.until_certified()
    of_this = f"Name=file-system-id,Values={file_system['FileSystemId']}"
    tasks = aws(deployed, "fsx", "describe-data-repository-tasks", "--filters", of_this)["DataRepositoryTasks"]
    assert "EXPORT_TO_REPOSITORY" in {task["Type"] for task in tasks}
    objects = aws(deployed, "s3api", "list-objects-v2", "--bucket", deployed.bucket, "--prefix", run.prefix)
    assert f"{run.prefix}certificate.json" in {item["Key"] for item in objects["Contents"]}


def test_nothing_differs_after_a_deployment(deployed: Deployed) -> None:
    assert "Number of stacks with differences: 0" in deployed.cloud.diff(REPOSITORY)
