"""An ECS task, as ECS describes it."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

from tools.local_cloud.services.ecs.sizes import Size
from tools.local_cloud.settings import ACCOUNT, REGION

Wire = dict[str, Any]


@dataclass(kw_only=True)
class Container:
    """One container of a task, from its definition and the overrides of the call."""

    definition: Wire
    override: Wire
    arn: str
    last_status: str = "PENDING"
    exit_code: int | None = None
    reason: str | None = None

    @property
    def name(self) -> str:
        return str(self.definition["name"])

    @property
    def environment(self) -> dict[str, str]:
        """The definition's variables under the override's."""
        pairs = [*self.definition.get("environment", []), *self.override.get("environment", [])]
        return {pair["name"]: pair["value"] for pair in pairs}

    @property
    def command(self) -> list[str]:
        return list(self.override.get("command") or self.definition.get("command") or [])

    @property
    def needs(self) -> Size:
        """What its instance keeps free for it: of memory the reservation, or else the limit."""
        asked = {**self.definition, **{name: value for name, value in self.override.items() if value}}
        gpus = (one["value"] for one in asked.get("resourceRequirements") or [] if one["type"] == "GPU")
        memory = asked.get("memoryReservation") or asked.get("memory") or 0
        return Size(cpu_units=asked.get("cpu") or 0, memory_mib=memory, gpus=sum(map(int, gpus)))

    def describe(self) -> Wire:
        """The Container structure of the API."""
        shown: Wire = {
            "containerArn": self.arn,
            "name": self.name,
            "image": self.definition["image"],
            "lastStatus": self.last_status,
            "networkInterfaces": [],
            "healthStatus": "UNKNOWN",
            "cpu": str(self.definition.get("cpu", 0)),
        }
        if self.exit_code is not None:
            shown["exitCode"] = self.exit_code
        if self.reason:
            shown["reason"] = self.reason
        return shown


def instance_id(host: str) -> str:
    """The id that EC2 has for an instance."""
    return f"i-{host[:17]}"


def container_instance_arn(cluster: str, host: str) -> str:
    """The ARN that ECS has for it."""
    return f"arn:aws:ecs:{REGION}:{ACCOUNT}:container-instance/{cluster}/{host}"


def describe_instance(arn: str, host: str, size: Size) -> Wire:
    """The ContainerInstance structure of the API, as far as something reads it."""
    resources = [{"name": "CPU", "integerValue": size.cpu_units}, {"name": "MEMORY", "integerValue": size.memory_mib}]
    return {
        "containerInstanceArn": arn,
        "ec2InstanceId": instance_id(host),
        "status": "ACTIVE",
        "registeredResources": [{**one, "type": "INTEGER"} for one in resources],
    }


@dataclass(eq=False, kw_only=True)
class Task:
    """A task and its containers; `version` counts what a watcher could have seen change."""

    id: str
    cluster: str
    definition: Wire
    request: Wire
    containers: list[Container]
    created_at: float
    launch_type: str | None
    capacity_provider: str | None
    tags: dict[str, str]
    last_status: str = "PROVISIONING"
    desired_status: str = "RUNNING"
    started_at: float | None = None
    stopping_at: float | None = None
    stopped_at: float | None = None
    stop_code: str | None = None
    stopped_reason: str | None = None
    version: int = 1
    host: str | None = None  # its instance, once it has one
    hidden: bool = False  # by a fault: lists and descriptions do not have it yet

    @property
    def arn(self) -> str:
        return f"arn:aws:ecs:{REGION}:{ACCOUNT}:task/{self.cluster}/{self.id}"

    @property
    def cluster_arn(self) -> str:
        return f"arn:aws:ecs:{REGION}:{ACCOUNT}:cluster/{self.cluster}"

    @property
    def instance_id(self) -> str | None:
        """The EC2 instance that it has its place on."""
        return instance_id(self.host) if self.host else None

    @property
    def container_instance_arn(self) -> str | None:
        """Once one has taken it."""
        return container_instance_arn(self.cluster, self.host) if self.host else None

    @property
    def needs(self) -> Size:
        """Of all containers."""
        return sum((one.needs for one in self.containers), Size())

    @property
    def wants_distinct_instance(self) -> bool:
        return any(one.get("type") == "distinctInstance" for one in self.request.get("placementConstraints") or [])

    def is_beside(self, other: Task) -> bool:
        """Whether it keeps a task of its group from an instance that is to be distinct."""
        return self is not other and self.group == other.group and self.desired_status == "RUNNING"

    @property
    def environment(self) -> dict[str, str]:
        """The variables of all containers."""
        return {name: value for one in self.containers for name, value in one.environment.items()}

    @property
    def group(self) -> str:
        return str(self.request.get("group") or f"family:{self.definition['family']}")

    def describe(self, *, with_tags: bool = True) -> Wire:
        """The Task structure of the API."""
        shown: Wire = {
            "taskArn": self.arn,
            "clusterArn": self.cluster_arn,
            "taskDefinitionArn": self.definition["taskDefinitionArn"],
            "containers": [one.describe() for one in self.containers],
            "overrides": {
                "containerOverrides": (self.request.get("overrides") or {}).get("containerOverrides", []),
                "inferenceAcceleratorOverrides": [],
            },
            "lastStatus": self.last_status,
            "desiredStatus": self.desired_status,
            "cpu": str(self.definition.get("cpu", "")),
            "memory": str(self.definition.get("memory", "")),
            "createdAt": self.created_at,
            "group": self.group,
            "startedBy": self.request.get("startedBy", ""),
            "availabilityZone": f"{REGION}a",
            "attachments": [],
            "attributes": [],
            "connectivity": "CONNECTED",
            "enableExecuteCommand": False,
            "healthStatus": "UNKNOWN",
            "tags": [{"key": key, "value": value} for key, value in self.tags.items() if with_tags],
            "version": self.version,
        }
        optional = {
            "launchType": self.launch_type,
            "capacityProviderName": self.capacity_provider,
            "containerInstanceArn": self.container_instance_arn,
            "startedAt": self.started_at,
            "stoppingAt": self.stopping_at,
            "stoppedAt": self.stopped_at,
            "executionStoppedAt": self.stopped_at if self.started_at else None,
            "stopCode": self.stop_code,
            "stoppedReason": self.stopped_reason,
        }
        return shown | {name: value for name, value in optional.items() if value}


def new_task(
    request: Wire,
    *,
    cluster: str,
    definition: Wire,
    overrides: dict[str, Wire],
    launch_type: str | None,
    capacity_provider: str | None,
    now: float,
) -> Task:
    """A task that waits for its place."""
    name = uuid.uuid4().hex
    containers = [
        Container(
            definition=one,
            override=overrides.get(one["name"], {}),
            arn=f"arn:aws:ecs:{REGION}:{ACCOUNT}:container/{cluster}/{name}/{uuid.uuid4()}",
        )
        for one in definition["containerDefinitions"]
    ]
    return Task(
        id=name,
        cluster=cluster,
        definition=definition,
        request=request,
        containers=containers,
        created_at=now,
        launch_type=launch_type,
        capacity_provider=capacity_provider,
        tags={tag["key"]: tag.get("value", "") for tag in request.get("tags") or []},
    )
