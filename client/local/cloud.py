"""`make cloud`: a local cloud with Belay deployed, until Ctrl-C, for the real AWS command line and boto3."""

import time

from rich.console import Console

from client.local.house import JOB_FILE, House, house
from client.local.telling import heading, run_command
from local_cloud import environment
from local_cloud.cloud import REPOSITORY

STATE = REPOSITORY / "build" / "cloud"
PORT = 4601


def cloud(console: Console) -> None:
    with house(console, state_dir=STATE, port=PORT) as here:
        heading(console, "In another terminal")
        for line in commands(here):
            console.print(line, markup=False, soft_wrap=True)
        heading(console, f"Up at {here.cloud.settings.endpoint}, until Ctrl-C")
        while True:
            time.sleep(3600)


def commands(here: House) -> list[str]:
    """To be copied: they work as they stand here."""
    machine = here.deployment.train_machine_arn
    exports = [f"export {name}={value}" for name, value in environment.for_aws(here.cloud.settings).items()]
    return [
        *exports,
        f".venv/bin/python -m client.cli.main submit {JOB_FILE.relative_to(REPOSITORY)} --follow",
        f"run=$(aws stepfunctions start-execution --state-machine-arn {machine} \\",
        f"    --input file://{JOB_FILE.relative_to(REPOSITORY)} --query executionArn --output text)",
        "aws stepfunctions describe-execution --execution-arn $run",
        "aws stepfunctions get-execution-history --execution-arn $run \\",
        "    --query 'events[].stateEnteredEventDetails.name'",
        "aws fsx describe-file-systems --query 'FileSystems[].[FileSystemId,Lifecycle]'",
        "aws fsx describe-data-repository-tasks --query 'DataRepositoryTasks[].[TaskId,Lifecycle]'",
        f"aws s3 ls --recursive s3://{here.deployment.bucket}/jobs/",
        "aws stepfunctions stop-execution --execution-arn $run",
    ]


if __name__ == "__main__":
    run_command(cloud)
