"""A run as the tests see it: started through the real API, judged by what anyone could look up afterwards."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from contract import tags
from contract.certificate import Certificate
from contract.ledger import Ledger
from contract.run import execution_digest, run_id
from local_cloud.cloud import LocalCloud
from local_cloud.faults import Fault

_LONGEST_SECONDS = 240


class Deployed:
    """The stacks on a local cloud, with what a test needs to start runs and look at what they left."""

    def __init__(self, cloud: LocalCloud) -> None:
        self.cloud = cloud
        self.states = cloud.client("stepfunctions")
        self.fsx = cloud.client("fsx")
        self.s3 = cloud.client("s3")
        self.ecs = cloud.client("ecs")
        outputs = cloud.client("cloudformation").describe_stacks(StackName="BelayTraining")["Stacks"][0]["Outputs"]
        named = {output["OutputKey"]: output["OutputValue"] for output in outputs}
        self.train_arn: str = named["TrainMachineArn"]
        self.bucket: str = named["BucketName"]

    def start(self, job: dict[str, Any], *, faults: tuple[Fault, ...] = ()) -> "Run":
        for fault in faults:
            self.cloud.inject(fault)
        started = self.states.start_execution(stateMachineArn=self.train_arn, input=json.dumps(job))
        return Run(self, started["executionArn"], job)

    def known(self, arn: str, job: dict[str, Any]) -> "Run":
        """A run that somebody else started."""
        return Run(self, arn, job)

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
            assert time.monotonic() < deadline, f"waited {_LONGEST_SECONDS} s in vain: {what}\n{self.story()}"
            time.sleep(0.2)

    def until_certified(self) -> "Run":
        """Until a teardown has ended it, whoever started that one."""
        self.until(lambda: any(key.endswith("/certificate.json") for key in self.keys), "a certificate is there")
        return self

    def until_one_is_verified(self) -> "Run":
        """Until the pump has proven a checkpoint, while training goes on."""
        self.until(lambda: f"{self.prefix}ledger.json" in self.keys and self.verified_steps != [], "one is verified")
        return self

    # ---- what anyone can look up

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
        """What still stands of it, and costs money."""
        digest = execution_digest(self.arn)
        everything = self.deployed.fsx.describe_file_systems()["FileSystems"]
        return [one for one in everything if {"Key": tags.EXECUTION, "Value": digest} in one["Tags"]]

    @property
    def living_tasks(self) -> list[str]:
        cluster = self.deployed.ecs.list_clusters()["clusterArns"][0]
        arns = self.deployed.ecs.list_tasks(cluster=cluster)["taskArns"]
        tasks = self.deployed.ecs.describe_tasks(cluster=cluster, tasks=arns)["tasks"] if arns else []
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
        """For a failing test: where it is, and what it said."""
        return f"{self.status} {self.error} {self.cause}\n{' > '.join(self.states)}"
