"""An ECS task, as ECS describes it."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import Any

from local_cloud.settings import ACCOUNT, REGION

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


@dataclass(kw_only=True)
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
    host: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def arn(self) -> str:
        return f"arn:aws:ecs:{REGION}:{ACCOUNT}:task/{self.cluster}/{self.id}"

    @property
    def cluster_arn(self) -> str:
        return f"arn:aws:ecs:{REGION}:{ACCOUNT}:cluster/{self.cluster}"

    @property
    def instance_id(self) -> str:
        """The EC2 instance that it has to itself."""
        return f"i-{self.host[:17]}"

    @property
    def container_instance_arn(self) -> str | None:
        """Once one has taken it."""
        if self.launch_type == "FARGATE" or self.last_status == "PROVISIONING":
            return None
        return f"arn:aws:ecs:{REGION}:{ACCOUNT}:container-instance/{self.cluster}/{self.host}"

    @property
    def environment(self) -> dict[str, str]:
        """The variables of all containers, for whoever looks a task up by them."""
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
