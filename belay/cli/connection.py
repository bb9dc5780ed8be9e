"""The account that a command uses: that of the ordinary AWS configuration, which may be a local cloud."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from belay.aws import backend, deployment
from belay.aws.backend import Backend
from belay.aws.deployment import Clients
from belay.cli.outcome import Exit, Refused
from belay.client.reading import Run
from belay.contract.deployment import Deployment
from belay.contract.paths import job_prefix
from belay.contract.plan import RunPlan
from belay.contract.run import RUN, run_id
from belay.policy.training_tasks import TrainingTask

_SIDE_BY_SIDE = 8
# The list of prices is of all Regions, and is asked in this one.
_REGION_OF = {"pricing": "us-east-1"}


@dataclass(frozen=True)
class Cloud:
    clients: Clients
    deployment: Deployment

    def run(self, name: str) -> Run:
        """By its id, its execution's ARN, or its job's name, which means the newest run of that job."""
        if name.startswith("arn:"):
            return Run(name, deployment=self.deployment, clients=self.clients)
        return self._by_id(name) if RUN.fullmatch(name) else self._newest_of(name)

    def objects(self, prefix: str) -> list[dict[str, Any]]:
        pages = self._pages("s3", "list_objects_v2", Bucket=self.deployment.bucket, Prefix=prefix)
        return [item for page in pages for item in page.get("Contents", [])]

    def executions(self, *, most: int) -> list[dict[str, Any]]:
        """The newest first."""
        found: list[dict[str, Any]] = []
        for page in self._pages("stepfunctions", "list_executions", stateMachineArn=self.deployment.train_machine_arn):
            found += page["executions"]
            if len(found) >= most:
                break
        return sorted(found, key=lambda one: one["startDate"], reverse=True)[:most]

    @property
    def backend(self) -> Backend:
        return backend.of_deployment(self.clients, self.deployment)

    def tasks(self, run: str) -> list[TrainingTask]:
        """Those of the run that may still write, asked to stop or not."""
        return [task for task in self.backend.tasks_of(run) if task.may_write]

    def file_systems(self) -> list[dict[str, Any]]:
        pages = self._pages("fsx", "describe_file_systems")
        return [one for page in pages for one in page["FileSystems"]]

    def _planned(self, plan: RunPlan) -> Run:
        return Run(plan.execution_arn, deployment=self.deployment, clients=self.clients, plan=plan)

    def _by_id(self, name: str) -> Run:
        for execution in self.executions(most=10_000):
            if run_id(execution["executionArn"], execution["startDate"]) == name:
                return Run(execution["executionArn"], deployment=self.deployment, clients=self.clients)
        # Step Functions forgets an execution after 90 days; its plan in S3 stays.
        for prefix in self._folders("jobs/"):
            if plan := self._plan(f"{prefix}{name}/run.json"):
                return self._planned(plan)
        raise Refused(f"there is no run {name} here; 'belay ps' lists them", Exit.NOT_FOUND)

    def runs_of(self, job: str) -> Iterator[Run]:
        """The newest first: ids begin with the time."""
        for prefix in reversed(self._folders(job_prefix(job))):
            if plan := self._plan(f"{prefix}run.json"):
                yield self._planned(plan)

    def _newest_of(self, job: str) -> Run:
        for run in self.runs_of(job):
            return run
        raise Refused(f"there is no run and no job {job!r} here; 'belay ps' lists them", Exit.NOT_FOUND)

    def _folders(self, prefix: str) -> list[str]:
        pages = self._pages("s3", "list_objects_v2", Bucket=self.deployment.bucket, Prefix=prefix, Delimiter="/")
        return sorted(item["Prefix"] for page in pages for item in page.get("CommonPrefixes", []))

    def _plan(self, key: str) -> RunPlan | None:
        try:
            body = self.clients("s3").get_object(Bucket=self.deployment.bucket, Key=key)["Body"].read()
        except ClientError as error:
            if error.response["Error"]["Code"] == "NoSuchKey":
                return None
            raise
        return RunPlan.model_validate_json(body)

    def _pages(self, service: str, operation: str, **asked: Any) -> Any:
        return self.clients(service).get_paginator(operation).paginate(**asked)


def clients() -> Clients:
    # boto3 alone reads AWS_DEFAULT_REGION; AWS_REGION is what the AWS command line and the other SDKs put first.
    session = boto3.Session(region_name=os.environ.get("AWS_REGION") or None)
    if session.region_name is None:
        raise Refused("no Region is set; set AWS_REGION, or name a profile that has one in AWS_PROFILE")
    config = Config(retries={"mode": "standard", "total_max_attempts": 4}, connect_timeout=10, read_timeout=60)
    make: Callable[[str], Any] = cache(
        lambda service: session.client(service, region_name=_REGION_OF.get(service), config=config)
    )
    return make


def connect(name: str) -> Cloud:
    made = clients()
    return Cloud(made, deployment.find(made, name))


def side_by_side(work: Callable[[Any], Any], items: list[Any]) -> list[Any]:
    """The same for each item, a few side by side; the results in the order of the items."""
    with ThreadPoolExecutor(_SIDE_BY_SIDE) as pool:
        return list(pool.map(work, items))
