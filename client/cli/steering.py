"""A person steps in: a run is stopped, or goes on as another run."""

import json
from typing import Any

from client.cli import voice
from client.cli.cloud import connect
from client.cli.outcome import Exit, Refused
from client.cli.runs import start
from contract.paths import checkpoint_folder


def cancel(name: str, *, deployment_name: str) -> Exit:
    cloud = connect(deployment_name)
    run = cloud.run(name)
    status = run.describe()["status"]
    if status != "RUNNING":
        raise Refused(f"run {run.prefix.run} is over already: {status}")
    cloud.clients("stepfunctions").stop_execution(
        executionArn=run.execution_arn, error="Cancelled", cause="a person cancelled it with 'belay cancel'"
    )
    out = voice.console()
    out.print(f"Run {run.prefix.run} was told to stop. It saves, is exported and proven; then its file system goes.")
    out.print(f"Next: belay watch {run.prefix.run}", markup=False)
    return Exit.OK


def resume(name: str, *, step: int | None, follow: bool, deployment_name: str, as_json: bool) -> Exit:
    """The same job again. Alone it takes the newest whole checkpoint of its name, whichever run that is of."""
    cloud = connect(deployment_name)
    run = cloud.run(name)
    described = run.describe()
    if described["status"] == "RUNNING":
        raise Refused(f"run {run.prefix.run} is still running; 'belay cancel {run.prefix.run}' saves and stops it")
    job: dict[str, Any] = json.loads(described["input"])
    job["resume"] = "auto" if step is None else f"{run.prefix.run}/{checkpoint_folder(step)}"
    return start(cloud, job, follow=follow, as_json=as_json)
