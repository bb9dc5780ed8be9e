"""Clusters and task definitions are ministack's; tasks are ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from belay.policy.fitting import quota_code
from tools.local_cloud import engines
from tools.local_cloud.clients import Clients
from tools.local_cloud.platform.handlers import Operation, Response, answer
from tools.local_cloud.services.ecs import Ecs
from tools.local_cloud.services.ecs.capacity import Group
from tools.local_cloud.services.ecs.sizes import size_of
from tools.local_cloud.services.errors import AwsError, not_supported
from tools.local_cloud.settings import ACCOUNT, REGION

MODULE = "ministack.services.ecs"


class PlatformRegistry:
    """Reads the clusters and definitions that CloudFormation made."""

    def __init__(self) -> None:
        self._clusters = engines.use(MODULE, "_clusters")
        self._definitions = engines.use(MODULE, "_task_defs")
        self._cluster_name = engines.use(MODULE, "_resolve_cluster_name")
        self._definition_key = engines.use(MODULE, "_resolve_td_key")
        self._scope = engines.use("ministack.core.responses", "request_scope")

    def cluster(self, reference: str) -> dict[str, Any]:
        with self._scope(ACCOUNT, REGION):
            found = self._clusters.get(self._cluster_name(reference))
        if found is None:
            raise AwsError("ClusterNotFoundException", "Cluster not found.")
        return dict(found)

    def task_definition(self, reference: str) -> dict[str, Any]:
        with self._scope(ACCOUNT, REGION):
            found = self._definitions.get(self._definition_key(reference))
        if found is None or found.get("status") == "INACTIVE":
            raise AwsError("ClientException", "TaskDefinition not found.")
        return dict(found)

    def tags_by_arn(self) -> Iterable[tuple[str, dict[str, str]]]:
        """Tags of clusters and task definitions."""
        with self._scope(ACCOUNT, REGION):
            found = [(one["clusterArn"], one) for one in self._clusters.values()]
            found += [(one["taskDefinitionArn"], one) for one in self._definitions.values()]
        for arn, one in found:
            yield arn, {tag["key"]: tag.get("value", "") for tag in one.get("tags") or []}


def groups(clients: Clients, value_of_quota: Callable[[str], float]) -> Callable[[str], Group]:
    """Looks up what a capacity provider can start: the limit of its Auto Scaling group, its template's type, and how
    many of them the account's quota has room for. EC2 refuses the rest (VcpuLimitExceeded), and the group goes on."""

    def group(provider: str) -> Group:
        (found,) = clients.get("ecs").describe_capacity_providers(capacityProviders=[provider])["capacityProviders"]
        name = found["autoScalingGroupProvider"]["autoScalingGroupArn"].rpartition("/")[2]
        asked = {"AutoScalingGroupNames": [name]}
        (scaling,) = clients.get("autoscaling").describe_auto_scaling_groups(**asked)["AutoScalingGroups"]
        template = scaling["LaunchTemplate"]
        versions = clients.get("ec2").describe_launch_template_versions(
            LaunchTemplateId=template["LaunchTemplateId"], Versions=[template.get("Version", "$Default")]
        )["LaunchTemplateVersions"]
        launched = versions[0]["LaunchTemplateData"]
        size, most = size_of(launched["InstanceType"]), int(scaling["MaxSize"])
        spot = launched.get("InstanceMarketOptions", {}).get("MarketType") == "spot"
        quota = quota_code(launched["InstanceType"], spot=spot)
        if quota:
            most = min(most, int(value_of_quota(quota) * 1024 // size.cpu_units))
        return Group(size=size, max_instances=most)

    return group


def install(ecs: Ecs) -> None:
    """Our tasks answer RunTask and the other task operations; what is not supported says so."""
    actions = engines.use(MODULE, "_ACTION_MAP")
    ours: dict[str, Operation] = {
        "RunTask": ecs.run_task,
        "StopTask": ecs.stop_task,
        "DescribeTasks": ecs.describe_tasks,
        "ListTasks": ecs.list_tasks,
        "ListContainerInstances": ecs.list_container_instances,
        "DescribeContainerInstances": ecs.describe_container_instances,
    }
    for name, operation in ours.items():
        actions[name] = _answering(operation)
    of_the_platform = actions["TagResource"]
    of_tasks = _answering(ecs.tag_resource)
    actions["TagResource"] = lambda request: (
        of_tasks if ecs.has_task(request.get("resourceArn", "")) else of_the_platform
    )(request)
    for name in ("StartTask", "ExecuteCommand", "CreateService"):
        actions[name] = _answering(_missing(f"ecs:{name}"))


def _answering(operation: Operation) -> Callable[[dict[str, Any]], Response]:
    return lambda request: answer(lambda: operation(request))


def _missing(what: str) -> Operation:
    return lambda _request: not_supported(what)
