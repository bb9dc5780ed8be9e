"""Belay on a local cloud, and its runs: started, waited for and looked up through the public APIs of AWS."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from belay.aws import deployment
from belay.contract import tags
from belay.contract.certificate import Certificate
from belay.contract.ledger import Ledger
from belay.contract.run import execution_digest, run_id
from tools.local_cloud.cloud import LocalCloud
from tools.local_cloud.faults import Fault

_LONGEST_SECONDS = 240


class Deployed:
    """The stacks on a local cloud, with the clients that it takes to start runs and to look at them."""

    def __init__(self, cloud: LocalCloud) -> None:
        self.cloud = cloud
        self.deployment = deployment.find(cloud.client)
        self.states = cloud.client("stepfunctions")
        self.fsx = cloud.client("fsx")
        self.s3 = cloud.client("s3")
        self.ecs = cloud.client("ecs")
        self.bucket = self.deployment.bucket
        self.train_arn = self.deployment.train_machine_arn
        self.teardown_arn = self.deployment.teardown_machine_arn

    def start(self, job: dict[str, Any], *, faults: tuple[Fault, ...] = ()) -> "Run":
        for fault in faults:
            self.cloud.inject(fault)
        started = self.states.start_execution(stateMachineArn=self.train_arn, input=json.dumps(job))
        return self.run_of(started["executionArn"], job)

    def run_of(self, arn: str, job: dict[str, Any]) -> "Run":
        """A run that was started in another way."""
        return Run(self, arn, job)

    def tear_down(self, execution_arn: str, **more: str) -> str:
        """Starts a teardown as a person may at any time; gives its ARN. `more`: name of the execution, asked_by."""
        named = {"name": more.pop("name")} if "name" in more else {}
        order = json.dumps({"execution_arn": execution_arn, **more})
        started = self.states.start_execution(stateMachineArn=self.teardown_arn, input=order, **named)
        return str(started["executionArn"])

    def object(self, key: str) -> bytes:
        body: bytes = self.s3.get_object(Bucket=self.bucket, Key=key)["Body"].read()
        return body

    def keys(self, prefix: str) -> list[str]:
        pages = self.s3.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=prefix)
        return [item["Key"] for page in pages for item in page.get("Contents", [])]


@dataclass
class Run:
    deployed: Deployed
    arn: str
    job: dict[str, Any]

    # ---- waiting

    def finish(self) -> "Run":
        """Until the execution has ended."""
        self.until(lambda: self.status != "RUNNING", "the execution ends")
        return self

    def until(self, holds: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + _LONGEST_SECONDS
        while not holds():
            assert time.monotonic() < deadline, f"not within {_LONGEST_SECONDS} s: {what}\n{self.story()}"
            time.sleep(0.2)

    def until_certified(self) -> "Run":
        """Until a teardown of it has written the certificate."""
        self.until(lambda: any(key.endswith("/certificate.json") for key in self.keys), "a certificate is there")
        return self

    def until_one_is_verified(self) -> "Run":
        """Until the pump has proven a checkpoint, while training goes on."""
        self.until(lambda: f"{self.prefix}ledger.json" in self.keys and self.verified_steps != [], "one is verified")
        return self

    # ---- what can be looked up

    @property
    def described(self) -> dict[str, Any]:
        answer: dict[str, Any] = self.deployed.states.describe_execution(executionArn=self.arn)
        return answer

    @property
    def status(self) -> str:
        return str(self.described["status"])

    @property
    def error(self) -> str:
        return str(self.described.get("error", ""))

    @property
    def cause(self) -> str:
        return str(self.described.get("cause", ""))

    @property
    def keys(self) -> list[str]:
        """Everything that the run left in S3, below its own prefix."""
        return [key for key in self.deployed.keys(f"jobs/{self.job['name']}/") if self.run in key]

    @cached_property
    def run(self) -> str:
        return run_id(self.arn, self.described["startDate"])

    @property
    def prefix(self) -> str:
        return f"jobs/{self.job['name']}/{self.run}/"

    @property
    def certificate(self) -> Certificate:
        return Certificate.model_validate_json(self.deployed.object(f"{self.prefix}certificate.json"))

    @property
    def ledger(self) -> Ledger:
        return Ledger.model_validate_json(self.deployed.object(f"{self.prefix}ledger.json"))

    @property
    def verified_steps(self) -> list[int]:
        return sorted(entry.step for entry in self.ledger.entries if entry.verified_at)

    @property
    def events(self) -> list[dict[str, Any]]:
        lines = self.deployed.object(f"{self.prefix}events.jsonl").decode().splitlines()
        return [json.loads(line) for line in lines]

    @property
    def file_systems(self) -> list[dict[str, Any]]:
        """Its file systems that still exist."""
        mine = {"Key": tags.EXECUTION, "Value": execution_digest(self.arn)}
        pages = self.deployed.fsx.get_paginator("describe_file_systems").paginate()
        return [one for page in pages for one in page["FileSystems"] if mine in one["Tags"]]

    @property
    def living_tasks(self) -> list[str]:
        """Its ECS tasks that have not stopped."""
        ecs = self.deployed.ecs
        [cluster] = ecs.list_clusters()["clusterArns"]
        # ECS describes at most 100 tasks in a call, and lists no more in a page.
        pages = [page["taskArns"] for page in ecs.get_paginator("list_tasks").paginate(cluster=cluster)]
        tasks = [one for arns in pages if arns for one in ecs.describe_tasks(cluster=cluster, tasks=arns)["tasks"]]
        return [
            task["taskArn"]
            for task in tasks
            if task["lastStatus"] != "STOPPED" and self.run in json.dumps(task["overrides"])
        ]

    @property
    def states(self) -> list[str]:
        """The names of the states that were entered, in order."""
        pages = self.deployed.states.get_paginator("get_execution_history").paginate(executionArn=self.arn)
        return [
            event["stateEnteredEventDetails"]["name"]
            for page in pages
            for event in page["events"]
            if "stateEnteredEventDetails" in event
        ]

    def story(self) -> str:
        """For a failing test: the status, and the states that it entered."""
        return f"{self.status} {self.error} {self.cause}\n{' > '.join(self.states)}"
