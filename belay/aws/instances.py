"""EC2 and Service Quotas: how large an instance type is, and how many vCPUs of it the account may run."""

from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from belay.aws.deployment import Clients
from belay.contract.job import Resources
from belay.policy.fitting import InstanceSize, VcpuQuota, faults_of, market, quota_code, quota_fault


@dataclass(frozen=True)
class Fit:
    faults: list[str]
    unchecked: list[str]
    """What AWS did not say, and why. It refuses no job: the instance may well come."""


def fit(clients: Clients, resources: Resources, *, instance_type: str) -> Fit:
    try:
        size = size_of(clients, instance_type)
    except (ClientError, BotoCoreError) as error:
        return Fit([], [f"whether the job fits {instance_type}: {error}"])
    faults = faults_of(resources, size)
    what = f"the account's quota for {instance_type} {market(spot=resources.spot)}"
    try:
        quota = quota_of(clients, instance_type, spot=resources.spot)
    except (ClientError, BotoCoreError) as error:
        return Fit(faults, [f"{what}: {error}"])
    if quota is None:
        return Fit(faults, [f"{what}: which one that is is not known here"])
    fault = quota_fault(size, quota, spot=resources.spot)
    return Fit([*faults, fault] if fault else faults, [])


def size_of(clients: Clients, instance_type: str) -> InstanceSize:
    return size_in(clients("ec2").describe_instance_types(InstanceTypes=[instance_type])["InstanceTypes"][0])


def size_in(described: dict[str, Any]) -> InstanceSize:
    gpus = described.get("GpuInfo", {}).get("Gpus", [])
    return InstanceSize(
        type=described["InstanceType"],
        vcpus=described["VCpuInfo"]["DefaultVCpus"],
        memory_mib=described["MemoryInfo"]["SizeInMiB"],
        # ECS gives tasks NVIDIA's alone (ECS guide, "Amazon ECS task definitions for GPU workloads"). A part of a GPU,
        # as g6f has it, counts as 0 in Count; an older boto3 does not know LogicalGpuCount.
        gpus=sum(
            one.get("LogicalGpuCount") or one["Count"] or 1 for one in gpus if one.get("Manufacturer") == "NVIDIA"
        ),
    )


def quota_of(clients: Clients, instance_type: str, *, spot: bool) -> VcpuQuota | None:
    """None where it is not known which quota the type counts for."""
    code = quota_code(instance_type, spot=spot)
    if code is None:
        return None
    quota = clients("service-quotas").get_service_quota(ServiceCode="ec2", QuotaCode=code)["Quota"]
    return VcpuQuota(name=quota["QuotaName"], code=code, vcpus=quota["Value"])
