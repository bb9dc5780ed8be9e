"""An account with as much of AWS as the verbs ask: executions, plans in S3, file systems."""

import io
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from botocore.exceptions import ClientError

from belay.cli.connection import Cloud
from belay.contract import tags
from belay.contract.events import AnyEvent
from belay.contract.faults import parse_job
from belay.contract.paths import RunPrefix
from belay.contract.plan import RunPlan
from belay.contract.prices import Prices
from belay.contract.run import run_id
from tests.unit.client.samples import DEPLOYED


def refused(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": code}}, "Asked")


class Aws:
    def __init__(self) -> None:
        self.runs: list[dict[str, Any]] = []
        self.forgotten: set[str] = set()
        self.objects: dict[str, bytes] = {}
        self.disks: list[dict[str, Any]] = []
        self.prices = Prices(instance_hour=4.0)
        self.vcpus: float | None = 8
        self.started: list[tuple[str, Any]] = []
        self.tasks: list[dict[str, Any]] = []
        self.lines: list[dict[str, Any]] = []
        self.calls: list[str] = []

    @property
    def cloud(self) -> Cloud:
        return Cloud(lambda _service: self, DEPLOYED.model_copy(update={"prices": self.prices}))

    def run(self, job: dict[str, Any], *, at: datetime, status: str = "SUCCEEDED") -> str:
        """An execution with its plan in S3; the run's id."""
        arn = f"{DEPLOYED.train_machine_arn.replace('stateMachine', 'execution')}:{len(self.runs)}"
        self.runs.append({"executionArn": arn, "startDate": at, "status": status, "input": json.dumps(job)})
        run = run_id(arn, at)
        prefix = RunPrefix(job["name"], run)
        plan = RunPlan(
            run=run,
            execution_arn=arn,
            started_at=at,
            bucket="bucket",
            prefix=prefix.root,
            job=parse_job(job),
            resume=None,
        )
        self.objects[prefix.plan] = plan.model_dump_json().encode()
        return run

    def disk(self, job: str, run: str, state: tags.State, **more: str) -> str:
        id = f"fs-{len(self.disks)}"
        values = {tags.DEPLOYMENT: "belay", tags.JOB: job, tags.RUN: run, tags.STATE: state, **more}
        labels = [{"Key": key, "Value": value} for key, value in values.items()]
        self.disks.append({"FileSystemId": id, "StorageCapacity": 1200, "Tags": labels})
        return id

    def task(self, run: str, *, status: str = "RUNNING") -> str:
        arn = f"task-{len(self.tasks)}"
        overrides = {"containerOverrides": [{"environment": [{"name": "BELAY_RUN", "value": run}]}]}
        self.tasks.append({"taskArn": arn, "lastStatus": status, "overrides": overrides})
        return arn

    def say(self, event: AnyEvent) -> None:
        """A line of the trainer's log."""
        self.lines.append({"message": event.line(), "timestamp": int(event.at.timestamp() * 1000)})

    # ---- what boto3 calls

    def describe_execution(self, *, executionArn: str) -> dict[str, Any]:
        for run in self.runs:
            if run["executionArn"] == executionArn and executionArn not in self.forgotten:
                return run
        raise refused("ExecutionDoesNotExist")

    def start_execution(self, *, stateMachineArn: str, input: str) -> dict[str, Any]:
        self.started.append((stateMachineArn, json.loads(input)))
        arn = f"{stateMachineArn}:started"
        self.runs.append({"executionArn": arn, "startDate": datetime.now(UTC), "status": "RUNNING", "input": input})
        return {"executionArn": arn}

    def stop_execution(self, *, executionArn: str, error: str, cause: str) -> None:
        self.calls.append(f"stop {executionArn.rpartition(':')[2]}: {error}")

    def describe_tasks(self, *, cluster: str, tasks: list[str]) -> dict[str, Any]:
        return {"tasks": [one for one in self.tasks if one["taskArn"] in tasks]}

    def tag_resource(self, *, resourceArn: str, tags: list[dict[str, str]]) -> None:
        self.calls += [f"tag {resourceArn}: {tag['key']}" for tag in tags]

    def untag_resource(self, *, resourceArn: str, tagKeys: list[str]) -> None:
        self.calls += [f"untag {resourceArn}: {key}" for key in tagKeys]

    def stop_task(self, *, cluster: str, task: str, reason: str) -> None:
        self.calls.append(f"stop {task}: {reason}")

    def describe_instance_types(self, *, InstanceTypes: list[str]) -> dict[str, Any]:
        gpus = [{"Manufacturer": "NVIDIA", "Count": 1}]
        size = {"VCpuInfo": {"DefaultVCpus": 4}, "MemoryInfo": {"SizeInMiB": 16384}, "GpuInfo": {"Gpus": gpus}}
        return {"InstanceTypes": [{"InstanceType": InstanceTypes[0], **size}]}

    def get_service_quota(self, *, ServiceCode: str, QuotaCode: str) -> dict[str, Any]:
        if self.vcpus is None:
            raise refused("AccessDeniedException")
        return {"Quota": {"QuotaName": f"{ServiceCode} {QuotaCode}", "Value": self.vcpus}}

    def get_object(self, *, Bucket: str, Key: str) -> dict[str, Any]:
        if Key not in self.objects:
            raise refused("NoSuchKey")
        return {"Body": io.BytesIO(self.objects[Key])}

    def get_paginator(self, operation: str) -> "_Pages":
        return _Pages(self, operation)


class _Pages:
    def __init__(self, aws: Aws, operation: str) -> None:
        self._aws, self._operation = aws, operation

    def paginate(self, **asked: Any) -> Iterator[dict[str, Any]]:
        aws = self._aws
        match self._operation:
            case "list_executions":
                known = [run for run in aws.runs if run["executionArn"] not in aws.forgotten]
                yield {"executions": known[::-1]}
            case "describe_file_systems":
                for disk in aws.disks:
                    yield {"FileSystems": [disk]}
            case "list_objects_v2":
                keys = [key[len(asked["Prefix"]) :] for key in aws.objects if key.startswith(asked["Prefix"])]
                folders = sorted({f"{asked['Prefix']}{key.split('/')[0]}/" for key in keys if "/" in key})
                contents = [{"Key": key} for key in aws.objects if key.startswith(asked["Prefix"])]
                yield {"CommonPrefixes": [{"Prefix": folder} for folder in folders], "Contents": contents}
            case "filter_log_events":
                yield {"events": aws.lines}
            case "get_execution_history":
                yield {"events": []}
            case "list_tasks":
                assert (asked["cluster"], asked["family"]) == (DEPLOYED.tasks.cluster_arn, DEPLOYED.tasks.family)
                yield {"taskArns": [one["taskArn"] for one in aws.tasks if asked["desiredStatus"] == "RUNNING"]}
            case other:
                raise AssertionError(f"nobody should ask {other}")
