"""Whether a job fits on one instance, and one instance into the account's quota: known before anything costs money."""

import re
from dataclasses import dataclass

from belay.contract.job import Resources
from belay.contract.units import size_of

# vCPUs of running instances, by the first letters of their type. Names and codes: AWS General Reference, "Amazon EC2
# instance type quotas"; the codes stand in its links to the console. New accounts have 0 of the first two, 5 of the
# last.
_G, _P = {False: "L-DB2E81BA", True: "L-3819A6DF"}, {False: "L-417A185B"}
_STANDARD = {False: "L-1216C47A", True: "L-34B43A08"}
_QUOTAS = {
    "g": _G,
    "gr": _G,
    "vt": _G,
    "p": _P,
    **dict.fromkeys(("a", "c", "d", "h", "i", "m", "r", "t", "z"), _STANDARD),
}
# P on Spot has two: "All P4, P3 and P2" and "All P5 Spot Instance Requests". Where P6 counts is not said there.
_P_ON_SPOT = {"p4": "L-7212CCBC", "p5": "L-C4BD4855"}
# What AWS Batch's guide advises to leave to the system ("Reserve system memory").
_PERCENT_FOR_TASKS = 95


@dataclass(frozen=True)
class InstanceSize:
    type: str
    vcpus: int
    memory_mib: int
    gpus: int

    @property
    def most_memory_mib(self) -> int:
        """More no task can get. ECS places by what the kernel shows as its total (ECS guide, "Reserving Amazon ECS
        Linux container instance memory"), and that is without the kernel's own table of pages: 64 bytes for each 4 KiB
        (Linux, Documentation/mm/vmemmap_dedup). In AWS's example an m4.large of 8192 MiB shows 7985, and 8064 here."""
        return self.memory_mib * 63 // 64


@dataclass(frozen=True)
class VcpuQuota:
    """Of running instances of some families in one market."""

    name: str
    code: str
    vcpus: float


def market(*, spot: bool) -> str:
    return "Spot" if spot else "on demand"


def faults_of(resources: Resources, size: InstanceSize) -> list[str]:
    """Only what can surely not be placed: ECS would start no instance for it, and its task would stay PROVISIONING (ECS
    guide, "Amazon ECS managed scaling behavior")."""
    larger = "or deploy with a larger instance_type"
    faults = []
    if resources.gpus and not size.gpus:
        faults.append(
            f"resources.gpus: {size.type} has no NVIDIA GPU; say 0, or deploy with an instance_type that has one"
        )
    elif resources.gpus > size.gpus:
        faults.append(
            f"resources.gpus: {resources.gpus} is more than the {size.gpus} of {size.type};"
            f" ask for at most {size.gpus}, {larger}"
        )
    if resources.cpus > size.vcpus:
        faults.append(
            f"resources.cpus: {resources.cpus} is more than the {size.vcpus} vCPUs of {size.type};"
            f" ask for at most {size.vcpus}, {larger}"
        )
    if resources.memory > size.most_memory_mib:
        faults.append(
            f"resources.memory: {size_of(resources.memory)} is more than a task can get of the"
            f" {size_of(size.memory_mib)} of {size.type}; ask for about {_for_tasks(size)}, {larger}"
        )
    return faults


def _for_tasks(size: InstanceSize) -> str:
    mib = size.memory_mib * _PERCENT_FOR_TASKS // 100
    return size_of(mib - mib % 1024 if mib > 1024 else mib)


def quota_code(instance_type: str, *, spot: bool) -> str | None:
    """The quota that an instance counts for; None where it is not known."""
    family = re.match(r"([a-z]+)[0-9]+", instance_type)
    if family is None:
        return None
    if spot and family[1] == "p":
        return _P_ON_SPOT.get(family[0])
    return _QUOTAS.get(family[1], {}).get(spot)


def quota_fault(size: InstanceSize, quota: VcpuQuota, *, spot: bool) -> str | None:
    """One instance must fit in."""
    if quota.vcpus >= size.vcpus:
        return None
    return (
        f"resources: one {size.type} {market(spot=spot)} has {size.vcpus} vCPUs, and the account's quota"
        f" '{quota.name}' is {quota.vcpus:.0f}; {ask_for_more(size, quota)}"
    )


def ask_for_more(size: InstanceSize, quota: VcpuQuota) -> str:
    """Enough for two: with no instance running, "Amazon ECS always scales-out to two instances initially" (ECS guide,
    "Amazon ECS managed scaling behavior")."""
    return (
        "ask AWS for more: aws service-quotas request-service-quota-increase --service-code ec2"
        f" --quota-code {quota.code} --desired-value {2 * size.vcpus}"
    )
