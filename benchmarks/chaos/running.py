"""One cell: start a run, let the fault strike, wait until nothing moves, mend, wait again, look."""

import json
import time
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ClientError

from benchmarks.chaos.cells import Cell
from benchmarks.chaos.outcome import Outcome, broken_promises, proven
from client.deployment import Deployment
from client.reading import Run
from contract import tags
from contract.events import AnyEvent, Saved
from contract.run import execution_digest
from local_cloud.cloud import LocalCloud

_LOOK_EVERY_SECONDS = 0.7
# Between a fault's mending and the sweep that finds what is left, schedules and pauses pass.
_QUIET_SECONDS = 4.0
DATASET = "datasets/chaos/"


@dataclass(frozen=True)
class Site:
    cloud: LocalCloud
    deployment: Deployment
    most_seconds: float
    names: dict[str, str] = field(default_factory=dict)

    @property
    def teardown_arn(self) -> str:
        return self.deployment.train_machine_arn.removesuffix("-train") + "-teardown"

    def tear_down(self, execution_arn: str) -> None:
        """As anybody may at any time."""
        told = json.dumps({"execution_arn": execution_arn})
        self.cloud.client("stepfunctions").start_execution(stateMachineArn=self.teardown_arn, input=told)


def try_out(site: Site, cell: Cell, number: int) -> Outcome:
    started = time.monotonic()
    name = f"cell-{number}"
    arn = site.deployment.train_machine_arn.replace(":stateMachine:", ":execution:") + f":{name}"
    aimed = cell.aimed(arn)
    for fault in aimed:
        site.cloud.inject(fault)
    states = site.cloud.client("stepfunctions")
    machine = site.deployment.train_machine_arn
    states.start_execution(stateMachineArn=machine, name=name, input=json.dumps(_job(cell, name)))
    run = _Cell(site, Run(arn, deployment=site.deployment, clients=site.cloud.client))
    deadline = started + site.most_seconds
    if cell.way.stopped_in_training or cell.way.torn_down_by_hand == "while it trains":
        run.until(lambda: any(isinstance(event, Saved) for event in run.events()) or run.is_over, deadline)
    if cell.way.stopped_in_training and not run.is_over:
        states.stop_execution(executionArn=arn, error="Chaos", cause="stopped in training")
    if cell.way.torn_down_by_hand == "while it trains":
        site.tear_down(arn)
    run.until(lambda: run.rests, deadline)
    if cell.way.torn_down_by_hand == "when all is over":
        site.tear_down(arn)
        run.until(lambda: run.rests, deadline)
    kept = run.file_systems(state=tags.State.KEPT) != []
    waiting = [one for one in site.cloud.waiting_faults() if one in aimed and one.times is not None]
    # The cause is mended. What is still there has to find its way home, and nobody helps.
    for where in {json.dumps(fault.where): fault.where for fault in aimed}.values():
        site.cloud.clear_faults(where)
    run.until(lambda: run.is_home, max(deadline, time.monotonic() + site.most_seconds / 2))
    return run.outcome(struck=not waiting or not cell.faults, kept=kept, started=started)


def _job(cell: Cell, name: str) -> dict[str, Any]:
    return {
        "name": name,
        "dataset": {"s3": DATASET},
        "train": {"command": ["python", "data/small_training.py", *cell.way.words]},
        "resources": {"gpus": 0, "cpus": 1, "memory": "1GiB"},
        "checkpoint": {"every": "2 steps"},
        **cell.way.job,
    }


class _Cell:
    """One run, and what there is of it now."""

    def __init__(self, site: Site, run: Run) -> None:
        self._site, self._run = site, run
        self._digest = execution_digest(run.execution_arn)
        self._quiet_since: float | None = None

    def until(self, holds: Any, deadline: float) -> None:
        while not holds() and time.monotonic() < deadline:
            time.sleep(_LOOK_EVERY_SECONDS)

    @property
    def is_over(self) -> bool:
        return bool(self._run.describe()["status"] != "RUNNING")

    @property
    def rests(self) -> bool:
        """Nothing of it runs, for a while: neither its execution nor a teardown of it."""
        return self._for_a_while(self.is_over and not self._torn_down_now)

    @property
    def is_home(self) -> bool:
        at_rest = self.is_over and not self._torn_down_now
        return self._for_a_while(at_rest and not self.file_systems() and (not self._accepted or self._certified))

    def _for_a_while(self, holds: bool) -> bool:
        if not holds:
            self._quiet_since = None
            return False
        self._quiet_since = self._quiet_since or time.monotonic()
        return time.monotonic() - self._quiet_since > _QUIET_SECONDS

    @property
    def _torn_down_now(self) -> bool:
        states = self._site.cloud.client("stepfunctions")
        running = states.list_executions(stateMachineArn=self._site.teardown_arn, statusFilter="RUNNING")["executions"]
        inputs = [states.describe_execution(executionArn=one["executionArn"])["input"] for one in running]
        return any(self._run.execution_arn in text for text in inputs)

    @property
    def _accepted(self) -> bool:
        return self._is_there(self._run.prefix.plan)

    @property
    def _certified(self) -> bool:
        return self._is_there(self._run.prefix.certificate)

    def _is_there(self, key: str) -> bool:
        try:
            self._site.cloud.client("s3").head_object(Bucket=self._site.deployment.bucket, Key=key)
        except ClientError as error:
            if error.response["Error"]["Code"] != "404":
                raise
            return False
        return True

    def file_systems(self, *, state: str | None = None) -> list[str]:
        pages = self._site.cloud.client("fsx").get_paginator("describe_file_systems").paginate()
        wanted = {tags.EXECUTION: self._digest} | ({tags.STATE: state} if state else {})
        return [
            raw["FileSystemId"]
            for page in pages
            for raw in page["FileSystems"]
            if wanted.items() <= {tag["Key"]: tag["Value"] for tag in raw["Tags"]}.items()
        ]

    def events(self) -> list[AnyEvent]:
        return list(self._run.look().events)

    def _tasks(self) -> int:
        ecs = self._site.cloud.client("ecs")
        [cluster] = ecs.list_clusters()["clusterArns"]
        arns = [arn for page in ecs.get_paginator("list_tasks").paginate(cluster=cluster) for arn in page["taskArns"]]
        found = [
            task
            for first in range(0, len(arns), 100)
            for task in ecs.describe_tasks(cluster=cluster, tasks=arns[first : first + 100])["tasks"]
        ]
        run = self._run.prefix.run
        return sum(one["lastStatus"] != "STOPPED" and run in json.dumps(one["overrides"]) for one in found)

    def outcome(self, *, struck: bool, kept: bool, started: float) -> Outcome:
        described = self._run.describe()
        prefix, bucket = self._run.prefix, self._site.deployment.bucket
        events = self.events()
        certificate = self._run.certificate()
        steps = {event.step for event in events if isinstance(event, Saved)}
        if certificate and certificate.verdict.last_verified_step is not None:
            steps.add(certificate.verdict.last_verified_step)
        seen = Outcome(
            status=described["status"],
            error=described.get("error", ""),
            certificate=certificate,
            events=events,
            whole=proven(self._site.cloud.client("s3"), bucket=bucket, prefix=prefix, steps=steps),
            standing=self.file_systems(),
            tasks=self._tasks(),
            accepted=self._accepted,
            struck=struck,
            kept=kept,
            seconds=time.monotonic() - started,
        )
        seen.broken.extend(broken_promises(seen))
        return seen
