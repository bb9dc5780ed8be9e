"""Run a cheap job, inject a fault when its first checkpoint is saved, and check the certificate that follows."""

import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console

from belay.cli import output
from belay.cli.commands.jobs import refused
from belay.cli.commands.runs import has_ended
from belay.cli.connection import Cloud, connect
from belay.cli.outcome import Exit, Refused, of_verdict
from belay.client import jobfile
from belay.client.reading import Run
from belay.client.show import certificate_panel
from belay.contract import stop_reasons, tags
from belay.contract.events import Saved
from belay.contract.faults import JobRefused
from belay.contract.states import TrainState

_POLL_SECONDS = 1.0
# On a local cloud only: AWS itself cannot be made to fail from outside.
_OF_A_LOCAL_CLOUD: dict[str, dict[str, Any]] = {
    "crash": {"kind": "KillTraining", "at_step": 0, "on": ["saved"]},
    "export": {"kind": "ExportFails", "times": 1},
    # Until it is taken back: no instance comes for the first attempt.
    "capacity": {"kind": "NoCapacity"},
}
_SUFFIX, _LONGEST_NAME = "-drill", 48
FAULTS = ("abort", "spot", *_OF_A_LOCAL_CLOUD)


def drill(file: Path, *, fault: str, deployment_name: str) -> Exit:
    if fault not in FAULTS:
        raise Refused(f"{fault!r} is no fault; use one of {', '.join(FAULTS)}", Exit.USAGE)
    read = jobfile.read(file)
    if faults := read.faults():
        return refused(file, faults)
    cloud = connect(deployment_name)
    if fault in _OF_A_LOCAL_CLOUD:
        _ask_local_cloud("GET")
    started = cloud.clients("stepfunctions").start_execution(
        stateMachineArn=cloud.deployment.train_machine_arn, input=json.dumps(_drilled(read.raw))
    )
    run = cloud.run(started["executionArn"])
    out = output.console()
    out.print(f"Run [bold]{run.prefix.run}[/] has started. To see it: belay watch {run.prefix.run}")
    # Of this run alone: another of the same job may be at work. There is no task yet that it could be late for.
    concerns = {tags.RUN: run.prefix.run}
    try:
        if fault in _OF_A_LOCAL_CLOUD:
            _ask_local_cloud("POST", {**_OF_A_LOCAL_CLOUD[fault], "where": concerns})
        with out.status("waiting for its fault, then for its certificate ..."):
            _inject(cloud, run, fault, out)
            _until(run, lambda: run.certificate() is not None, "its certificate is there")
        if concerns in [one["where"] for one in _waiting(fault)]:
            raise Refused(f"the run ended before {fault} could happen to it; a longer job would show more")
    finally:
        if fault in _OF_A_LOCAL_CLOUD:
            _ask_local_cloud("DELETE", concerns)
    return _check(run, out)


def _drilled(job: dict[str, Any]) -> dict[str, Any]:
    """From its first step, and under a name of its own: no later run of the job goes on from what a drill left."""
    return {**job, "name": f"{job['name'][: _LONGEST_NAME - len(_SUFFIX)]}{_SUFFIX}", "resume": "never"}


def _inject(cloud: Cloud, run: Run, fault: str, out: Console) -> None:
    match fault:
        case "abort" | "spot":
            _until(run, lambda: bool(_saved(run)), "a checkpoint is saved")
            (_abort if fault == "abort" else _interrupt)(cloud, run)
            out.print(f"Fault: {fault}, after step {max(_saved(run))} was saved")
        case "capacity":
            _until(run, lambda: _has_given_up(run), "an attempt is given up")
            _ask_local_cloud("DELETE", {tags.RUN: run.prefix.run})
            out.print("Fault: capacity, no instance came for the first attempt; for the next one there is one")
        case "crash":
            out.print("Fault: crash, as soon as a checkpoint is saved")
        case "export":
            out.print("Fault: export, the first one fails")


def _has_given_up(run: Run) -> bool:
    return any(entered.state == TrainState.HOW_DID_IT_END for entered in run.snapshot().entered)


def _waiting(fault: str) -> list[dict[str, Any]]:
    return _ask_local_cloud("GET") if fault in _OF_A_LOCAL_CLOUD else []


def _check(run: Run, out: Console) -> Exit:
    certificate = run.certificate()
    assert certificate is not None
    out.print(certificate_panel(certificate))
    saved, proven = max(_saved(run), default=None), certificate.verdict.last_verified_step
    if of_verdict(certificate.verdict) is Exit.NOT_SAFE or proven != saved:
        out.print(f"[red]✗[/] step {saved} was saved, and step {proven} is proven")
        return Exit.NOT_SAFE
    if saved is None:
        out.print("[green]✓[/] nothing was saved before it ended, so there was nothing to lose")
        return Exit.OK
    out.print(f"[green]✓[/] nothing that was saved is lost: step {proven} is proven in S3")
    return Exit.OK


def _saved(run: Run) -> list[int]:
    return [event.step for event in run.snapshot().events if isinstance(event, Saved)]


def _until(run: Run, holds: Callable[[], bool], what: str) -> None:
    while not holds():
        described = run.describe()
        if described["status"] != "RUNNING" and has_ended(run) and not holds():
            exit = Exit.JOB_REFUSED if described.get("error") == JobRefused.__name__ else Exit.FAILED
            raise Refused(f"it ended before {what}: {described.get('error')}: {described.get('cause')}", exit)
        time.sleep(_POLL_SECONDS)


def _abort(cloud: Cloud, run: Run) -> None:
    cloud.clients("stepfunctions").stop_execution(executionArn=run.execution_arn, error="Drill", cause="belay drill")


def _interrupt(cloud: Cloud, run: Run) -> None:
    """What the rule does that listens for Spot's two-minute warning."""
    own = cloud.tasks(run.prefix.run)
    if not own:
        raise Refused("the run has no task that could be interrupted any more; a longer job would")
    reason = f"{stop_reasons.INTERRUPTION} (belay drill)"
    cloud.backend.stop(own[0].id, reason=reason)


def _ask_local_cloud(method: str, document: Any = None) -> Any:
    endpoint = os.environ.get("AWS_ENDPOINT_URL", "")
    if not endpoint.startswith(("http://127.0.0.1", "http://localhost")):
        raise Refused("this fault can only be made on a local cloud (make cloud); on AWS use --fault abort or spot")
    body = None if document is None else json.dumps(document).encode()
    request = urllib.request.Request(
        f"{endpoint}/_belay/faults", body, {"Content-Type": "application/json"}, method=method
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:  # nosec B310 # an address of our own cloud
            return json.load(answer)
    except urllib.error.URLError as error:
        raise Refused(f"the local cloud at {endpoint} did not take the fault: {error}") from None
