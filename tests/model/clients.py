"""What the Lambdas see of the world: small stand-ins for boto3's clients, with its names, shapes and errors."""

import json
from io import BytesIO
from types import SimpleNamespace
from typing import Any

from botocore.exceptions import ClientError

from contract.tags import STATE
from tests.lambdas.world import checksum
from tests.model import fsx as model
from tests.model import s3 as objects
from tests.model.values import Frozen, freeze
from tests.model.world import World

_ARN = f"arn:aws:fsx:us-east-1:{objects.ACCOUNT}:file-system"
Json = dict[str, Any]


class Refused(ClientError):  # type: ignore[misc]
    """Any error that a service answers with."""

    def __init__(self, code: str) -> None:
        super().__init__({"Error": {"Code": code, "Message": code}}, "Operation")


class FileSystemNotFound(Refused):
    pass


class ResourceNotFound(Refused):
    pass


class DataRepositoryTaskExecuting(Refused):
    pass


class Client:
    """Holds the world of one call; what the call changes is left in `world`."""

    def __init__(self, world: World) -> None:
        self.world = world

    def client(self, service: str) -> Any:
        return getattr(self, service)

    def __getattr__(self, name: str) -> Any:
        made = _SERVICES[name](self)
        setattr(self, name, made)
        return made


class _Service:
    exceptions = SimpleNamespace(
        FileSystemNotFound=FileSystemNotFound,
        ResourceNotFound=ResourceNotFound,
        DataRepositoryTaskExecuting=DataRepositoryTaskExecuting,
    )

    def __init__(self, stage: Client) -> None:
        self._stage = stage

    @property
    def _world(self) -> World:
        return self._stage.world

    def get_paginator(self, operation: str) -> Any:
        return SimpleNamespace(paginate=lambda **asked: [getattr(self, operation)(**asked)])


class Fsx(_Service):
    def describe_file_systems(self, FileSystemIds: Any = None) -> Json:
        found = [one for one in self._world.file_systems if FileSystemIds is None or one.id in FileSystemIds]
        if FileSystemIds and not found:
            raise FileSystemNotFound("FileSystemNotFound")
        return {"FileSystems": [_file_system(one) for one in found]}

    def describe_data_repository_associations(self, Filters: Any, **_: Any) -> Json:
        found = self._of(Filters)
        return {"Associations": [{"Lifecycle": one.lifecycle} for one in found.links]}

    def describe_data_repository_tasks(self, TaskIds: Any = (), Filters: Any = ()) -> Json:
        if Filters:
            id, words = self._of(Filters).id, [word for more in Filters[1:] for word in more["Values"]]
            found = [one for one in self._world.exports if one.file_system == id]
            found = [one for one in found if not words or one.lifecycle in words]
        else:
            found = [one for one in self._world.exports if one.id in TaskIds]
            if not found:
                raise Refused("DataRepositoryTaskNotFound")
        told = [{"TaskId": one.id, "Type": "EXPORT_TO_REPOSITORY", "Lifecycle": one.lifecycle} for one in found]
        return {"DataRepositoryTasks": told}

    def create_data_repository_task(self, **asked: Any) -> Json:
        self._stage.world, answer = model.export(self._world, freeze(asked), model.NOBODY)
        if isinstance(answer, Frozen):
            return dict(answer)
        code = answer.error.removeprefix("FSx.").removesuffix("Exception")  # type: ignore[attr-defined]
        raise {"DataRepositoryTaskExecuting": DataRepositoryTaskExecuting}.get(code, Refused)(code)

    def tag_resource(self, ResourceARN: str, Tags: list[Json]) -> Json:
        words = {tag["Key"]: tag["Value"] for tag in Tags}
        assert STATE in words
        try:
            self._stage.world = model.tag(self._world, ResourceARN.rpartition("/")[2], words)
        except LookupError:
            raise ResourceNotFound("ResourceNotFound") from None
        return {}

    def _of(self, filters: Any) -> Any:
        found = self._world.file_system(filters[0]["Values"][0])
        if found is None:
            raise FileSystemNotFound("FileSystemNotFound")
        return found


class Ecs(_Service):
    def list_tasks(self, desiredStatus: str, **_: Any) -> Json:
        stopping = ("STOPPING", "STOPPED")
        found = [one for one in self._world.trainings if (one.status in stopping) == (desiredStatus == "STOPPED")]
        return {"taskArns": [one.arn for one in found]}

    def describe_tasks(self, tasks: Any, **_: Any) -> Json:
        return {"tasks": [_training(one) for one in self._world.trainings if one.arn in tasks]}


class Stepfunctions(_Service):
    def describe_execution(self, executionArn: str) -> Json:
        if executionArn != objects.TRAIN:
            return {"input": json.dumps({"execution_arn": objects.TRAIN}), "status": "RUNNING"}
        told: Json = {"startDate": objects.STARTED_AT, "input": json.dumps(JOB_FILE), "status": "RUNNING"}
        if self._world.train:
            end = self._world.train
            told |= {"status": end.status, "error": end.error or "", "cause": end.cause or ""}
        return told

    def list_executions(self, stateMachineArn: str, statusFilter: str, **_: Any) -> Json:
        """Train's end is remembered until the sweep has come once without a fault. That a teardown failed is not needed
        besides: Step Functions' memory of it matters for what is kept longer than Train is remembered."""
        if stateMachineArn == objects.TRAINS:
            train = self._world.train
            found = [objects.TRAIN] if train and train.status == statusFilter else []
        else:
            found = [f"{objects.TEARDOWNS}:{slot}" for slot in self._world.teardowns if statusFilter == "RUNNING"]
        return {"executions": [{"executionArn": arn, "stopDate": objects.STARTED_AT} for arn in found]}

    def start_execution(self, input: str, **_: Any) -> Json:
        """The sweep's names change with time, and so much time may pass: none is ever taken here."""
        self._stage.world = self._world._replace(starting=("sweep", freeze(json.loads(input))))
        return {}


class Logs(_Service):
    def filter_log_events(self, **_: Any) -> Json:
        return {"events": [{"logStreamName": "one", "message": line} for line in self._world.log]}


class S3(_Service):
    def get_object(self, Key: str, **_: Any) -> Json:
        body = self._body(Key)
        return {"Body": BytesIO(body), "ETag": checksum(body)}

    def head_object(self, Key: str, **_: Any) -> Json:
        body = self._body(Key, absent="404")
        return {"ContentLength": len(body), "ChecksumType": "FULL_OBJECT", "ChecksumCRC64NVME": checksum(body)}

    def put_object(self, Key: str, Body: bytes, **_: Any) -> Json:
        # Nobody decides by the history, and it would tell apart what is the same to everyone.
        if Key != objects.PREFIX.events:
            self._stage.world = self._world._replace(s3=self._world.s3 | {Key: Body})
        return {}

    def list_objects_v2(self, Prefix: str = "", Delimiter: str = "", **_: Any) -> Json:
        keys = sorted(key for key in self._world.s3 if key.startswith(Prefix))
        if Delimiter:
            names = {
                key.removeprefix(Prefix).partition(Delimiter)[0] for key in keys if Delimiter in key[len(Prefix) :]
            }
            return {"CommonPrefixes": [{"Prefix": f"{Prefix}{name}/"} for name in sorted(names)]}
        return {
            "Contents": [{"Key": key, "Size": len(self._world.s3[key]), "LastModified": objects.NOW} for key in keys]
        }

    def _body(self, key: str, *, absent: str = "NoSuchKey") -> bytes:
        if key not in self._world.s3:
            raise Refused(absent)
        body: bytes = self._world.s3[key]
        return body


class Sns(_Service):
    def publish(self, **_: Any) -> Json:
        """Nothing of the world depends on what a person reads."""
        return {}


_SERVICES: dict[str, Any] = {
    "fsx": Fsx,
    "ecs": Ecs,
    "stepfunctions": Stepfunctions,
    "logs": Logs,
    "s3": S3,
    "sns": Sns,
}

JOB_FILE: Json = {
    "name": objects.JOB,
    "dataset": {"s3": "datasets/digits/"},
    "train": {"recipe": "image-classification", "model": {"model_type": "vit"}},
    # Two polls are the limit wherever a job file sets one, so that each limit is met by whole schedules too.
    "limits": {"scratch": "60s", "link": "60s", "capacity": "60s", "train": "10m", "export": "30s"},
    "retry": {"capacity": 1, "interruption": 1, "crash": 1},
}


def _file_system(one: Any) -> Json:
    return {
        "FileSystemId": one.id,
        "FileSystemType": "LUSTRE",
        "Lifecycle": one.lifecycle,
        "ResourceARN": f"{_ARN}/{one.id}",
        "CreationTime": objects.STARTED_AT,
        "DNSName": f"{one.id}.fsx.us-east-1.amazonaws.com",
        "LustreConfiguration": {"MountName": "abcde"},
        "Tags": [{"Key": key, "Value": value} for key, value in one.tags.items()],
    }


def _training(one: Any) -> Json:
    variables = {"BELAY_RUN": objects.RUN, "BELAY_ATTEMPT": str(one.attempt)}
    environment = [{"name": name, "value": value} for name, value in variables.items()]
    return {
        "taskArn": one.arn,
        "lastStatus": one.status,
        "overrides": {"containerOverrides": [{"name": "trainer", "environment": environment}]},
    }
