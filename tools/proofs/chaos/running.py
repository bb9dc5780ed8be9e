"""One cell: start a run, inject the fault, wait until nothing moves, remove the fault, wait again, look."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from belay.client.reading import Run as ClientRun
from belay.contract import tags
from belay.contract.events import AnyEvent, Saved
from tools.local_runs.runs import Deployed, Run
from tools.proofs.chaos.cells import Cell
from tools.proofs.chaos.outcome import Outcome, broken_promises, whole_in_s3

_LOOK_EVERY_SECONDS = 0.7
# Longer than the schedules and pauses that pass before the sweep finds what is left.
_QUIET_SECONDS = 4.0
_SCRIPT = Path(__file__).parent / "small_training.py"
DATASET = "datasets/chaos/"


def upload_training(deployed: Deployed) -> None:
    key = f"{DATASET}{_SCRIPT.name}"
    deployed.s3.put_object(Bucket=deployed.bucket, Key=key, Body=_SCRIPT.read_bytes())


def run_cell(deployed: Deployed, cell: Cell, number: int, *, most_seconds: float) -> Outcome:
    started = time.monotonic()
    name = f"cell-{number}"
    arn = deployed.train_arn.replace(":stateMachine:", ":execution:") + f":{name}"
    faults = cell.faults_for(arn)
    for fault in faults:
        deployed.cloud.inject(fault)
    job = _job(cell, name)
    deployed.states.start_execution(stateMachineArn=deployed.train_arn, name=name, input=json.dumps(job))
    run = _Watched(deployed.run_of(arn, job))
    deadline = started + most_seconds
    if cell.setup.stopped_in_training or cell.setup.torn_down_by_hand == "while it trains":
        _wait(lambda: any(isinstance(event, Saved) for event in run.events()) or run.is_over, deadline)
    if cell.setup.stopped_in_training and not run.is_over:
        deployed.states.stop_execution(executionArn=arn, error="Chaos", cause="stopped in training")
    if cell.setup.torn_down_by_hand == "while it trains":
        deployed.tear_down(arn)
    _wait(lambda: run.is_idle, deadline)
    if cell.setup.torn_down_by_hand == "when all is over":
        deployed.tear_down(arn)
        _wait(lambda: run.is_idle, deadline)
    kept = any({"Key": tags.STATE, "Value": tags.State.KEPT} in one["Tags"] for one in run.run.file_systems)
    waiting = [one for one in deployed.cloud.waiting_faults() if one in faults and one.times is not None]
    # From here on the sweep alone must bring everything to its end.
    for where in {json.dumps(fault.where): fault.where for fault in faults}.values():
        deployed.cloud.clear_faults(where)
    _wait(lambda: run.is_done, max(deadline, time.monotonic() + most_seconds / 2))
    return run.outcome(injected=not waiting or not cell.faults, kept=kept, started=started)


def _wait(holds: Callable[[], bool], deadline: float) -> None:
    while not holds() and time.monotonic() < deadline:
        time.sleep(_LOOK_EVERY_SECONDS)


def _job(cell: Cell, name: str) -> dict[str, Any]:
    # A run that cannot start ends, if its cell does not say that it waits.
    limits = {"limits": {"start": "0s", **cell.setup.job.get("limits", {})}}
    return {
        "name": name,
        "dataset": {"s3": DATASET},
        "train": {"command": ["python", "data/small_training.py", *cell.setup.words]},
        "resources": {"gpus": 0, "cpus": 1, "memory": "1GiB"},
        "checkpoint": {"every": "2 steps"},
        **cell.setup.job,
        **limits,
    }


class _Watched:
    """One run, and what exists of it now."""

    def __init__(self, run: Run) -> None:
        self.run, self._deployed = run, run.deployed
        self._client = ClientRun(run.arn, deployment=run.deployed.deployment, clients=run.deployed.cloud.client)
        self._quiet_since: float | None = None

    @property
    def is_over(self) -> bool:
        return self.run.status != "RUNNING"

    @property
    def is_idle(self) -> bool:
        """For a while neither its execution nor a teardown of it has run."""
        return self._for_a_while(self.is_over and not self._has_teardown)

    @property
    def is_done(self) -> bool:
        """Idle, without a file system, and certified."""
        idle = self.is_over and not self._has_teardown
        return self._for_a_while(idle and not self.run.file_systems and (not self._accepted or self._certified))

    def _for_a_while(self, holds: bool) -> bool:
        if not holds:
            self._quiet_since = None
            return False
        self._quiet_since = self._quiet_since or time.monotonic()
        return time.monotonic() - self._quiet_since > _QUIET_SECONDS

    @property
    def _has_teardown(self) -> bool:
        states = self._deployed.states
        running = states.list_executions(stateMachineArn=self._deployed.teardown_arn, statusFilter="RUNNING")
        arns = [one["executionArn"] for one in running["executions"]]
        return any(self.run.arn in states.describe_execution(executionArn=arn)["input"] for arn in arns)

    @property
    def _accepted(self) -> bool:
        return self._deployed.keys(self._client.prefix.plan) != []

    @property
    def _certified(self) -> bool:
        return self._deployed.keys(self._client.prefix.certificate) != []

    def events(self) -> list[AnyEvent]:
        return list(self._client.snapshot().events)

    def outcome(self, *, injected: bool, kept: bool, started: float) -> Outcome:
        events, certificate = self.events(), self._client.certificate()
        steps = {event.step for event in events if isinstance(event, Saved)}
        if certificate and certificate.verdict.last_verified_step is not None:
            steps.add(certificate.verdict.last_verified_step)
        deployed = self._deployed
        seen = Outcome(
            status=self.run.status,
            error=self.run.error,
            certificate=certificate,
            events=events,
            whole=whole_in_s3(deployed.s3, bucket=deployed.bucket, prefix=self._client.prefix, steps=steps),
            file_systems=[one["FileSystemId"] for one in self.run.file_systems],
            tasks=len(self.run.living_tasks),
            accepted=self._accepted,
            injected=injected,
            kept=kept,
            seconds=time.monotonic() - started,
        )
        seen.broken.extend(broken_promises(seen))
        return seen
