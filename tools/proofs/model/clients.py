"""boto3's clients on the model of AWS, as the Lambdas use them: with its names, shapes and errors."""

import json
from io import BytesIO
from types import SimpleNamespace
from typing import Any

from botocore.exceptions import ClientError

from belay.contract.tags import STATE
from tools.proofs.fakes.world import checksum
from tools.proofs.model import fsx as fsx_model
from tools.proofs.model import s3 as s3_model
from tools.proofs.model.aws_state import AwsState
from tools.proofs.model.values import Frozen, freeze

_ARN = f"arn:aws:fsx:us-east-1:{s3_model.ACCOUNT}:file-system"
Json = dict[str, Any]


class Refused(ClientError):  # type: ignore[misc]
    """An error of a service."""

    def __init__(self, code: str) -> None:
        super().__init__({"Error": {"Code": code, "Message": code}}, "Operation")


class FileSystemNotFound(Refused):
    pass


class ResourceNotFound(Refused):
    pass


class DataRepositoryTaskExecuting(Refused):
    pass


class Client:
    """Of one call of a Lambda: `aws` is the state before it, and in the end the state after it."""

    def __init__(self, aws: AwsState) -> None:
        self.aws = aws

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

    def __init__(self, client: Client) -> None:
        self._client = client

    @property
    def _aws(self) -> AwsState:
        return self._client.aws

    def get_paginator(self, operation: str) -> Any:
        return SimpleNamespace(paginate=lambda **asked: [getattr(self, operation)(**asked)])


class Fsx(_Service):
    def describe_file_systems(self, FileSystemIds: Any = None) -> Json:
        found = [one for one in self._aws.file_systems if FileSystemIds is None or one.id in FileSystemIds]
        if FileSystemIds and not found:
            raise FileSystemNotFound("FileSystemNotFound")
        return {"FileSystems": [_file_system(one) for one in found]}

    def describe_data_repository_associations(self, AssociationIds: Any) -> Json:
        found = self._aws.link(AssociationIds[0])
        if found is None:
            raise Refused("DataRepositoryAssociationNotFound")
        return {"Associations": [{"Lifecycle": found[1].lifecycle, "CreationTime": s3_model.STARTED_AT}]}

    def describe_data_repository_tasks(self, TaskIds: Any = (), Filters: Any = ()) -> Json:
        if Filters:
            id, words = self._of(Filters).id, [word for more in Filters[1:] for word in more["Values"]]
            found = [one for one in self._aws.exports if one.file_system == id]
            found = [one for one in found if not words or one.lifecycle in words]
        else:
            found = [one for one in self._aws.exports if one.id in TaskIds]
            if not found:
                raise Refused("DataRepositoryTaskNotFound")
        listed = [{"TaskId": one.id, "Type": "EXPORT_TO_REPOSITORY", "Lifecycle": one.lifecycle} for one in found]
        # Only of the last link: the others' are from before it was made.
        last = self._of(Filters).links[-1:] if Filters else ()
        at: Json = {"CreationTime": s3_model.STARTED_AT, "Type": "IMPORT_METADATA_FROM_REPOSITORY"}
        listed += [{"TaskId": f"import-{one.token}", "Lifecycle": one.imported, **at} for one in last if one.imported]
        return {"DataRepositoryTasks": listed}

    def create_data_repository_task(self, **asked: Any) -> Json:
        self._client.aws, answer = fsx_model.export(self._aws, freeze(asked), fsx_model.NOBODY)
        if isinstance(answer, Frozen):
            return dict(answer)
        code = answer.error.removeprefix("FSx.").removesuffix("Exception")  # type: ignore[attr-defined]
        raise {"DataRepositoryTaskExecuting": DataRepositoryTaskExecuting}.get(code, Refused)(code)

    def tag_resource(self, ResourceARN: str, Tags: list[Json]) -> Json:
        words = {tag["Key"]: tag["Value"] for tag in Tags}
        assert STATE in words
        try:
            self._client.aws = fsx_model.tag(self._aws, ResourceARN.rpartition("/")[2], words)
        except LookupError:
            raise ResourceNotFound("ResourceNotFound") from None
        return {}

    def _of(self, filters: Any) -> Any:
        found = self._aws.file_system(filters[0]["Values"][0])
        if found is None:
            raise FileSystemNotFound("FileSystemNotFound")
        return found


class Ecs(_Service):
    def list_tasks(self, desiredStatus: str, **_: Any) -> Json:
        stopping = ("STOPPING", "STOPPED")
        found = [one for one in self._aws.trainings if (one.status in stopping) == (desiredStatus == "STOPPED")]
        return {"taskArns": [one.arn for one in found]}

    def describe_tasks(self, tasks: Any, **_: Any) -> Json:
        return {"tasks": [_training(one) for one in self._aws.trainings if one.arn in tasks]}


class Stepfunctions(_Service):
    def describe_execution(self, executionArn: str) -> Json:
        if executionArn != s3_model.TRAIN:
            return {"input": json.dumps({"execution_arn": s3_model.TRAIN}), "status": "RUNNING"}
        described: Json = {"startDate": s3_model.STARTED_AT, "input": json.dumps(JOB_FILE), "status": "RUNNING"}
        if self._aws.train:
            end = self._aws.train
            described |= {"status": end.status, "error": end.error or "", "cause": end.cause or ""}
        return described

    def list_executions(self, stateMachineArn: str, statusFilter: str, **_: Any) -> Json:
        """Train's end is listed until the sweep has run once without a fault. Failed teardowns need no list: on AWS it
        matters only for file systems that are kept longer than Train's end is listed."""
        if stateMachineArn == s3_model.TRAINS:
            train = self._aws.train
            found = [s3_model.TRAIN] if train and train.status == statusFilter else []
        else:
            found = [f"{s3_model.TEARDOWNS}:{slot}" for slot in self._aws.teardowns if statusFilter == "RUNNING"]
        return {"executions": [{"executionArn": arn, "stopDate": s3_model.STARTED_AT} for arn in found]}

    def start_execution(self, input: str, **_: Any) -> Json:
        """The sweep's execution names change with time, so none is ever taken."""
        self._client.aws = self._aws._replace(starting=("sweep", freeze(json.loads(input))))
        return {}


class Logs(_Service):
    def filter_log_events(self, **_: Any) -> Json:
        """Whatever is asked for, in this order: all attempts write as the first, into one stream.

        All of it was written just now: the pump would read an older log part by part.
        """
        lines = enumerate(self._aws.log, start=int(s3_model.NOW.timestamp() * 1000))
        return {"events": [{"logStreamName": "one", "timestamp": at, "message": line} for at, line in lines]}


class S3(_Service):
    def get_object(self, Key: str, **_: Any) -> Json:
        body = self._body(Key)
        return {"Body": BytesIO(body), "ETag": checksum(body)}

    def head_bucket(self, **_: Any) -> Json:
        return {}

    def head_object(self, Key: str, **_: Any) -> Json:
        body = self._body(Key, absent="404")
        return {"ContentLength": len(body), "ChecksumType": "FULL_OBJECT", "ChecksumCRC64NVME": checksum(body)}

    def put_object(self, Key: str, Body: bytes, **_: Any) -> Json:
        # Nothing reads the events file to decide, and it would make equivalent states differ. The pump is made to
        # forget, which it must bear: it reads the whole log each time.
        if Key not in (s3_model.PREFIX.events, s3_model.PREFIX.pump_state):
            self._client.aws = self._aws._replace(s3=self._aws.s3 | {Key: Body})
        return {"ETag": checksum(Body)}

    def list_objects_v2(self, Prefix: str = "", Delimiter: str = "", **_: Any) -> Json:
        keys = sorted(key for key in self._aws.s3 if key.startswith(Prefix))
        if Delimiter:
            names = {
                key.removeprefix(Prefix).partition(Delimiter)[0] for key in keys if Delimiter in key[len(Prefix) :]
            }
            return {"CommonPrefixes": [{"Prefix": f"{Prefix}{name}/"} for name in sorted(names)]}
        return {
            "Contents": [{"Key": key, "Size": len(self._aws.s3[key]), "LastModified": s3_model.NOW} for key in keys]
        }

    def _body(self, key: str, *, absent: str = "NoSuchKey") -> bytes:
        if key not in self._aws.s3:
            raise Refused(absent)
        body: bytes = self._aws.s3[key]
        return body


class Sns(_Service):
    def publish(self, **_: Any) -> Json:
        """A mail changes nothing in AWS."""
        return {}


class Ec2(_Service):
    """The instance type of the model's deployment."""

    def describe_instance_types(self, InstanceTypes: Any) -> Json:
        gpus = [{"Manufacturer": "NVIDIA", "Count": 1}]
        size = {"VCpuInfo": {"DefaultVCpus": 4}, "MemoryInfo": {"SizeInMiB": 16384}, "GpuInfo": {"Gpus": gpus}}
        return {"InstanceTypes": [{"InstanceType": InstanceTypes[0], **size}]}


class ServiceQuotas(_Service):
    """Of an account with room for every run."""

    def get_service_quota(self, ServiceCode: str, QuotaCode: str) -> Json:
        return {"Quota": {"QuotaName": QuotaCode, "Value": 64.0}}


_SERVICES: dict[str, Any] = {
    "ec2": Ec2,
    "service-quotas": ServiceQuotas,
    "fsx": Fsx,
    "ecs": Ecs,
    "stepfunctions": Stepfunctions,
    "logs": Logs,
    "s3": S3,
    "sns": Sns,
}

JOB_FILE: Json = {
    "name": s3_model.JOB,
    "dataset": {"s3": "datasets/digits/"},
    "train": {"recipe": "image-classification", "model": {"model_type": "vit"}},
    # Every limit that a job file sets is two polls here, so that schedules reach it.
    "limits": {"scratch": "60s", "link": "60s", "capacity": "60s", "train": "10m", "export": "30s"},
    "retry": {"capacity": 1, "interruption": 1, "crash": 1},
}


def _file_system(one: Any) -> Json:
    return {
        "FileSystemId": one.id,
        "FileSystemType": "LUSTRE",
        "Lifecycle": one.lifecycle,
        "ResourceARN": f"{_ARN}/{one.id}",
        "CreationTime": s3_model.STARTED_AT,
        "DNSName": f"{one.id}.fsx.us-east-1.amazonaws.com",
        "LustreConfiguration": {"MountName": "abcde"},
        "Tags": [{"Key": key, "Value": value} for key, value in one.tags.items()],
    }


def _training(one: Any) -> Json:
    variables = {"BELAY_RUN": s3_model.RUN, "BELAY_NODE": str(one.node), "BELAY_ATTEMPT": str(one.attempt)}
    environment = [{"name": name, "value": value} for name, value in variables.items()]
    return {
        "taskArn": one.arn,
        "lastStatus": one.status,
        "overrides": {"containerOverrides": [{"name": "trainer", "environment": environment}]},
    }
