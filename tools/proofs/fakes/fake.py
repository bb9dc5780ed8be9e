"""Fakes of AWS services behind real boto3 clients, which check requests and answers against the service's model."""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from botocore import xform_name
from botocore.model import OperationModel
from botocore.validate import ParamValidator


class Refused(Exception):
    """The service answers with this error."""

    def __init__(self, code: str, message: str = "refused") -> None:
        super().__init__(code)
        self.code, self.message = code, message


@dataclass
class HttpAnswer:
    status_code: int


@contextmanager
def answering(client: Any, operation: str, answer: Callable[..., object]) -> Iterator[None]:
    """One operation of a client gets this answer; an empty name means all operations."""
    before_call = f"before-call.{client.meta.service_model.service_id.hyphenize()}{operation and '.'}{operation}"
    client.meta.events.register(before_call, answer)
    try:
        yield
    finally:
        client.meta.events.unregister(before_call, answer)


class Fake:
    """Subclasses answer an operation with a method of its name: `describe_file_systems(params)`."""

    def answering(self, client: Any) -> AbstractContextManager[None]:
        return answering(client, "", self._answer)

    def _answer(self, model: OperationModel, params: dict[str, Any], **_: Any) -> tuple[HttpAnswer, dict[str, Any]]:
        body = params["body"]
        # EC2 speaks in form fields, and all others in JSON.
        asked = body if isinstance(body, dict) else json.loads(body or b"{}")
        try:
            answer = getattr(self, xform_name(model.name))(asked)
        except Refused as refused:
            return HttpAnswer(400), {
                "Error": {"Code": refused.code, "Message": refused.message},
                "ResponseMetadata": {},
            }
        report = ParamValidator().validate(answer, model.output_shape)
        assert not report.has_errors(), report.generate_report()
        return HttpAnswer(200), {**answer, "ResponseMetadata": {}}


def page_of(items: list[Any], token: str | None, size: int) -> tuple[list[Any], str | None]:
    """Small pages, so that code without pagination fails. The token is base64, as FSx demands."""
    start = len(token) // 4 if token else 0
    rest = start + size < len(items)
    return items[start : start + size], "AAAA" * (start + size) if rest else None


class FakeFsx(Fake):
    def __init__(self) -> None:
        self.file_systems: dict[str, dict[str, Any]] = {}
        self.links: list[dict[str, Any]] = []
        self.tasks: list[dict[str, Any]] = []
        self.broken: dict[str, Refused] = {}
        self._task_of_token: dict[str, dict[str, Any]] = {}

    def add(self, id: str, *, tags: dict[str, str], created_at: datetime, lifecycle: str = "AVAILABLE") -> None:
        self.file_systems[id] = {
            "FileSystemId": id,
            "FileSystemType": "LUSTRE",
            "Lifecycle": lifecycle,
            "ResourceARN": f"arn:aws:fsx:us-east-1:123456789012:file-system/{id}",
            "CreationTime": created_at,
            "DNSName": f"{id}.fsx.us-east-1.amazonaws.com",
            "LustreConfiguration": {"MountName": "abcde"},
            "Tags": [{"Key": key, "Value": value} for key, value in tags.items()],
        }

    def add_link(self, file_system_id: str, lifecycle: str, created_at: datetime, **more: Any) -> None:
        link = {
            "AssociationId": f"dra-{len(self.links):017x}",
            "FileSystemId": file_system_id,
            "Lifecycle": lifecycle,
            "CreationTime": created_at,
            **more,
        }
        self.links.append(link)

    def add_task(self, file_system_id: str, lifecycle: str, created_at: datetime, **more: Any) -> str:
        task = {
            "TaskId": f"task-{len(self.tasks):017x}",
            "FileSystemId": file_system_id,
            "Type": "EXPORT_TO_REPOSITORY",
            "Lifecycle": lifecycle,
            "CreationTime": created_at,
            **more,
        }
        self.tasks.append(task)
        return str(task["TaskId"])

    def describe_file_systems(self, asked: dict[str, Any]) -> dict[str, Any]:
        wanted = asked.get("FileSystemIds")
        if wanted:
            if wanted[0] not in self.file_systems:
                raise Refused("FileSystemNotFound")
            return {"FileSystems": [self.file_systems[wanted[0]]]}
        return self._page("FileSystems", list(self.file_systems.values()), asked)

    def tag_resource(self, asked: dict[str, Any]) -> dict[str, Any]:
        of_arn = {one["ResourceARN"]: one for one in self.file_systems.values()}
        if asked["ResourceARN"] not in of_arn:
            raise Refused("ResourceNotFound")
        described = of_arn[asked["ResourceARN"]]
        tags = {tag["Key"]: tag for tag in [*described["Tags"], *asked["Tags"]]}
        described["Tags"] = list(tags.values())
        return {}

    def describe_data_repository_associations(self, asked: dict[str, Any]) -> dict[str, Any]:
        found = [link for link in self.links if link["AssociationId"] in asked["AssociationIds"]]
        if not found:
            raise Refused("DataRepositoryAssociationNotFound")
        return {"Associations": found}

    def describe_data_repository_tasks(self, asked: dict[str, Any]) -> dict[str, Any]:
        if "TaskIds" in asked:
            found = [task for task in self.tasks if task["TaskId"] in asked["TaskIds"]]
            if not found:
                raise Refused("DataRepositoryTaskNotFound")
            return {"DataRepositoryTasks": found}
        id = self._filtered(asked)
        found = [task for task in self.tasks if task["FileSystemId"] == id]
        for more in asked["Filters"][1:]:
            assert more["Name"] == "task-lifecycle"
            found = [task for task in found if task["Lifecycle"] in more["Values"]]
        return self._page("DataRepositoryTasks", found, asked)

    def create_data_repository_task(self, asked: dict[str, Any]) -> dict[str, Any]:
        id, token = asked["FileSystemId"], asked["ClientRequestToken"]
        if id in self.broken:
            raise self.broken[id]
        if token not in self._task_of_token:
            if any(task["FileSystemId"] == id and task["Lifecycle"] == "EXECUTING" for task in self.tasks):
                raise Refused("DataRepositoryTaskExecuting")
            self.add_task(id, "EXECUTING", datetime(2026, 11, 21), Paths=asked["Paths"])
            self._task_of_token[token] = self.tasks[-1]
        return {"DataRepositoryTask": self._task_of_token[token]}

    def _filtered(self, asked: dict[str, Any]) -> str:
        assert asked["Filters"][0]["Name"] == "file-system-id"
        id: str = asked["Filters"][0]["Values"][0]
        if id not in self.file_systems:
            raise Refused("FileSystemNotFound")
        if id in self.broken:
            raise self.broken[id]
        return id

    def _page(self, key: str, items: list[dict[str, Any]], asked: dict[str, Any]) -> dict[str, Any]:
        page, token = page_of(items, asked.get("NextToken"), 2)
        return {key: page, **({"NextToken": token} if token else {})}


class FakeEcs(Fake):
    def __init__(self) -> None:
        self.tasks: dict[str, dict[str, Any]] = {}

    def add(
        self,
        name: str,
        *,
        run: str,
        node: int = 0,
        attempt: int = 1,
        last: str = "RUNNING",
        desired: str = "RUNNING",
        instance: str = "i-0123456789abcdef0",
    ) -> str:
        arn = f"arn:aws:ecs:us-east-1:123456789012:task/belay/{name}"
        told = {"BELAY_RUN": run, "BELAY_NODE": str(node), "BELAY_ATTEMPT": str(attempt)}
        variables = [{"name": name, "value": value} for name, value in told.items()]
        self.tasks[arn] = {
            "taskArn": arn,
            "lastStatus": last,
            "desiredStatus": desired,
            "containerInstanceArn": _container_instance(instance),
            "overrides": {"containerOverrides": [{"name": "trainer", "environment": variables}]},
        }
        return arn

    def list_tasks(self, asked: dict[str, Any]) -> dict[str, Any]:
        arns = [
            arn
            for arn, task in self.tasks.items()
            if task["desiredStatus"] == asked.get("desiredStatus", "RUNNING")
            and asked.get("containerInstance") in (None, task["containerInstanceArn"])
        ]
        page, token = page_of(arns, asked.get("nextToken"), 2)
        return {"taskArns": page, **({"nextToken": token} if token else {})}

    def describe_tasks(self, asked: dict[str, Any]) -> dict[str, Any]:
        return {"tasks": [self.tasks[arn] for arn in asked["tasks"] if arn in self.tasks]}

    def list_container_instances(self, asked: dict[str, Any]) -> dict[str, Any]:
        _, _, instance = asked["filter"].partition("ec2InstanceId == ")
        wanted = _container_instance(instance)
        there = {task["containerInstanceArn"] for task in self.tasks.values()}
        return {"containerInstanceArns": [wanted] if wanted in there else []}

    def stop_task(self, asked: dict[str, Any]) -> dict[str, Any]:
        self.tasks[asked["task"]] |= {"desiredStatus": "STOPPED", "stoppedReason": asked["reason"]}
        return {"task": self.tasks[asked["task"]]}


def _container_instance(instance: str) -> str:
    return f"arn:aws:ecs:us-east-1:123456789012:container-instance/belay/{instance.removeprefix('i-')}"


class FakeStates(Fake):
    def __init__(self) -> None:
        self.executions: dict[str, dict[str, Any]] = {}

    def add(self, arn: str, *, started_at: datetime, status: str = "RUNNING", **more: Any) -> None:
        machine = arn.replace(":execution:", ":stateMachine:").rpartition(":")[0]
        described = {"executionArn": arn, "stateMachineArn": machine, "status": status, "startDate": started_at}
        self.executions[arn] = described | more

    def describe_execution(self, asked: dict[str, Any]) -> dict[str, Any]:
        if asked["executionArn"] not in self.executions:
            raise Refused("ExecutionDoesNotExist")
        return self.executions[asked["executionArn"]]

    def list_executions(self, asked: dict[str, Any]) -> dict[str, Any]:
        matching = [
            {**one, "name": arn.rpartition(":")[2]}
            for arn, one in self.executions.items()
            if one["stateMachineArn"] == asked["stateMachineArn"] and one["status"] == asked["statusFilter"]
        ]
        page, token = page_of(matching, asked.get("nextToken"), size=1)
        shown = ("executionArn", "stateMachineArn", "name", "status", "startDate", "stopDate")
        listed = [{key: one[key] for key in shown if key in one} for one in page]
        return {"executions": listed} | ({"nextToken": token} if token else {})

    def start_execution(self, asked: dict[str, Any]) -> dict[str, Any]:
        arn = f"{asked['stateMachineArn'].replace(':stateMachine:', ':execution:')}:{asked['name']}"
        if arn in self.executions:
            raise Refused("ExecutionAlreadyExists")
        started_at = datetime(2026, 11, 21, tzinfo=UTC)
        self.add(arn, started_at=started_at, input=asked["input"])
        return {"executionArn": arn, "startDate": started_at}


class FakeEc2(Fake):
    def __init__(self) -> None:
        self.types = {"g6.xlarge": (4, 16384, 1), "g6.12xlarge": (48, 196608, 4), "m7i.large": (2, 8192, 0)}
        self.broken: Refused | None = None

    def describe_instance_types(self, asked: dict[str, Any]) -> dict[str, Any]:
        if self.broken:
            raise self.broken
        name = asked["InstanceType.1"]
        if name not in self.types:
            raise Refused("InvalidInstanceType")
        vcpus, mib, gpus = self.types[name]
        described: dict[str, Any] = {
            "InstanceType": name,
            "VCpuInfo": {"DefaultVCpus": vcpus},
            "MemoryInfo": {"SizeInMiB": mib},
        }
        if gpus:
            described["GpuInfo"] = {"Gpus": [{"Manufacturer": "NVIDIA", "Name": "L4", "Count": gpus}]}
        return {"InstanceTypes": [described]}


class FakeQuotas(Fake):
    """Of vCPUs: those of G and VT on demand and on Spot, and of what is called standard on demand."""

    def __init__(self) -> None:
        self.vcpus: dict[str, float] = {"L-DB2E81BA": 8, "L-3819A6DF": 8, "L-1216C47A": 5}
        self.broken: Refused | None = None

    def get_service_quota(self, asked: dict[str, Any]) -> dict[str, Any]:
        if self.broken:
            raise self.broken
        code = asked["QuotaCode"]
        if asked["ServiceCode"] != "ec2" or code not in self.vcpus:
            raise Refused("NoSuchResourceException")
        return {"Quota": {"QuotaCode": code, "QuotaName": f"quota {code}", "Value": self.vcpus[code]}}


class FakeLogs(Fake):
    """It ignores the pattern and returns every line since the start time."""

    def __init__(self, group: str) -> None:
        self.group: str | None = group
        self.lines: list[tuple[datetime, str, str]] = []
        self.patterns: list[str] = []

    def filter_log_events(self, asked: dict[str, Any]) -> dict[str, Any]:
        if asked["logGroupName"] != self.group:
            raise Refused("ResourceNotFoundException")
        self.patterns.append(asked["filterPattern"])
        since = asked["startTime"]
        found = [
            {"timestamp": int(at.timestamp() * 1000), "logStreamName": stream, "message": text}
            for at, stream, text in sorted(self.lines, key=lambda line: line[0])
            if since <= at.timestamp() * 1000 <= asked.get("endTime", float("inf"))
            and stream in asked.get("logStreamNames", [stream])
        ]
        page, token = page_of(found, asked.get("nextToken"), 3)
        return {"events": page, **({"nextToken": token} if token else {})}
