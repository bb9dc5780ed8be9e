"""What RunTask needs to know before there is a task: cluster, definition, capacity, overrides."""

from __future__ import annotations

from typing import Protocol

from tools.local_cloud.services.ecs.model import Wire
from tools.local_cloud.services.errors import AwsError


class Registry(Protocol):
    """Clusters and task definitions, wherever they are kept."""

    def cluster(self, reference: str) -> Wire:
        """The cluster of that name or ARN; refuses an unknown one."""

    def task_definition(self, reference: str) -> Wire:
        """The task definition of that family, family:revision or ARN; refuses an unknown one."""


def placement(request: Wire, cluster: Wire) -> tuple[str | None, str | None]:
    """Launch type and capacity provider, decided as ECS does."""
    strategy = request.get("capacityProviderStrategy") or []
    launch_type = request.get("launchType")
    if strategy and launch_type:
        raise AwsError(
            "InvalidParameterException",
            "Specifying both a launch type and capacity provider strategy is not supported.",
        )
    if not launch_type:
        strategy = strategy or cluster.get("defaultCapacityProviderStrategy") or []
    if not strategy:
        if launch_type == "FARGATE":
            return "FARGATE", None
        # Nothing scales out for a plain EC2 launch, and this cloud has no instance of its own.
        raise AwsError("InvalidParameterException", "No Container Instances were found in your cluster.")
    provider = str(strategy[0]["capacityProvider"])
    if provider not in (cluster.get("capacityProviders") or []):
        raise AwsError(
            "InvalidParameterException", f"The capacity provider {provider} is not associated with the cluster."
        )
    return ("FARGATE" if provider.startswith("FARGATE") else "EC2"), provider


def check_overrides(request: Wire, definition: Wire) -> dict[str, Wire]:
    """Overrides by container name; refuses one for a container that is not there."""
    names = {one["name"] for one in definition["containerDefinitions"]}
    overrides = {one.get("name"): one for one in (request.get("overrides") or {}).get("containerOverrides", [])}
    for name in overrides:
        if name not in names:
            raise AwsError(
                "InvalidParameterException", f"Override for container named {name} is not a container in the task."
            )
    return overrides
