"""`make cloud`: a local cloud with Belay deployed, until Ctrl-C, for the real AWS command line and boto3."""

import time

from rich.console import Console

from tools.console import heading, run_command
from tools.demo.example import JOB_FILE, Example, deployed_example
from tools.local_cloud import environment
from tools.repository import REPOSITORY

STATE = REPOSITORY / "build" / "cloud"
PORT = 4601


def cloud(console: Console) -> None:
    with deployed_example(console, state_dir=STATE, port=PORT) as example:
        heading(console, "In another terminal")
        for line in commands(example):
            console.print(line, markup=False, soft_wrap=True)
        heading(console, f"Up at {example.deployed.cloud.settings.endpoint}, until Ctrl-C")
        while True:
            time.sleep(3600)


def commands(example: Example) -> list[str]:
    """To be copied into a shell."""
    deployed = example.deployed
    exports = [f"export {name}={value}" for name, value in environment.for_aws(deployed.cloud.settings).items()]
    job_file = JOB_FILE.relative_to(REPOSITORY)
    return [
        *exports,
        f".venv/bin/python -m belay.cli.main submit {job_file} --follow",
        f"run=$(aws stepfunctions start-execution --state-machine-arn {deployed.train_arn} \\",
        f"    --input file://{job_file} --query executionArn --output text)",
        "aws stepfunctions describe-execution --execution-arn $run",
        "aws stepfunctions get-execution-history --execution-arn $run \\",
        "    --query 'events[].stateEnteredEventDetails.name'",
        "aws fsx describe-file-systems --query 'FileSystems[].[FileSystemId,Lifecycle]'",
        "aws fsx describe-data-repository-tasks --query 'DataRepositoryTasks[].[TaskId,Lifecycle]'",
        f"aws s3 ls --recursive s3://{deployed.bucket}/jobs/",
        "aws stepfunctions stop-execution --execution-arn $run",
    ]


if __name__ == "__main__":
    run_command(cloud, description=__doc__)
