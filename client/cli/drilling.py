"""A fire drill: a real, cheap job, a fault when its first checkpoint is saved, and the certificate that follows."""

import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from client import jobfile
from client.cli import voice
from client.cli.cloud import Cloud, connect
from client.cli.jobs import refused
from client.cli.outcome import Exit, Refused
from client.reading import Run
from client.show import certificate_panel
from contract import stop_reasons
from contract.events import Saved
from contract.verdict import Durability

_LOOK_EVERY_SECONDS = 1.0
# Only a local cloud has them: nobody can make AWS itself fail from outside.
_OF_A_LOCAL_CLOUD: dict[str, dict[str, Any]] = {
    "crash": {"kind": "KillTraining", "at_step": 0, "on": ["saved"]},
    "export": {"kind": "ExportFails", "times": 1},
    "capacity": {"kind": "NoCapacity", "times": 1},
}
FAULTS = ("abort", "spot", *_OF_A_LOCAL_CLOUD)


def drill(file: Path, *, fault: str, deployment_name: str) -> Exit:
    if fault not in FAULTS:
        raise Refused(f"{fault!r} is no fault; use one of {', '.join(FAULTS)}", Exit.USAGE)
    read = jobfile.read(file)
    if faults := read.faults():
        return refused(file, faults)
    cloud = connect(deployment_name)
    if fault in _OF_A_LOCAL_CLOUD:
        _hand_in(_OF_A_LOCAL_CLOUD[fault])
    started = cloud.clients("stepfunctions").start_execution(
        stateMachineArn=cloud.deployment.train_machine_arn, input=json.dumps(read.raw)
    )
    run = cloud.run(started["executionArn"])
    out = voice.console()
    out.print(f"Run [bold]{run.prefix.run}[/]: waiting for its first checkpoint")
    if fault in ("abort", "spot"):
        _until(run, lambda: bool(_saved(run)), "a checkpoint is saved")
        (_abort if fault == "abort" else _interrupt)(cloud, run)
        out.print(f"Fault: {fault}, after step {max(_saved(run))} was saved")
    _until(run, lambda: run.certificate() is not None, "its certificate is there")
    return _judge(run)


def _judge(run: Run) -> Exit:
    certificate = run.certificate()
    assert certificate is not None
    out = voice.console()
    out.print(certificate_panel(certificate))
    saved, proven = max(_saved(run), default=None), certificate.verdict.last_verified_step
    if certificate.verdict.durability is not Durability.VERIFIED or proven != saved:
        out.print(f"[red]✗[/] step {saved} was saved, and step {proven} is proven")
        return Exit.NOT_SAFE
    out.print(f"[green]✓[/] nothing that was saved is lost: step {proven} is proven in S3")
    return Exit.OK


def _saved(run: Run) -> list[int]:
    return [event.step for event in run.look().events if isinstance(event, Saved)]


def _until(run: Run, holds: Callable[[], bool], what: str) -> None:
    while not holds():
        described = run.describe()
        if described["status"] != "RUNNING" and run.plan() is None:
            exit = Exit.JOB_REFUSED if described.get("error") == "JobRefused" else Exit.FAILED
            raise Refused(f"it ended before {what}: {described.get('error')}: {described.get('cause')}", exit)
        time.sleep(_LOOK_EVERY_SECONDS)


def _abort(cloud: Cloud, run: Run) -> None:
    cloud.clients("stepfunctions").stop_execution(executionArn=run.execution_arn, error="Drill", cause="belay drill")


def _interrupt(cloud: Cloud, run: Run) -> None:
    """What the rule does that listens for Spot's two-minute warning."""
    own = cloud.tasks(run.prefix.run)
    if not own:
        raise Refused("the run has no task that could be interrupted any more; a longer job would")
    reason = f"{stop_reasons.INTERRUPTION} (belay drill)"
    cloud.clients("ecs").stop_task(cluster=own[0]["clusterArn"], task=own[0]["taskArn"], reason=reason)


def _hand_in(fault: dict[str, Any]) -> None:
    endpoint = os.environ.get("AWS_ENDPOINT_URL", "")
    request = urllib.request.Request(
        f"{endpoint}/_belay/faults", json.dumps(fault).encode(), {"Content-Type": "application/json"}
    )
    if not endpoint.startswith(("http://127.0.0.1", "http://localhost")):
        raise Refused("this fault can only be made on a local cloud (make cloud); on AWS use --fault abort or spot")
    try:
        urllib.request.urlopen(request, timeout=10).close()  # nosec B310 # an address of our own cloud
    except urllib.error.URLError as error:
        raise Refused(f"the local cloud at {endpoint} did not take the fault: {error}") from None
