"""How much room a task needs, and an instance of a type has."""

from __future__ import annotations

from dataclasses import dataclass

from belay.aws.instances import size_in
from tools.local_cloud.instance_types import known

# An instance registers less memory than is installed: the kernel takes its share (ECS developer guide, "Reserving
# Amazon ECS Linux container instance memory"). [?] How much it is for each type.
_REGISTERED_MEMORY = 0.93


class UnknownInstanceType(LookupError):
    """This cloud does not know how large such an instance is."""


@dataclass(frozen=True, kw_only=True)
class Size:
    """In ECS's units: 1024 for a vCPU, MiB of memory, GPUs."""

    cpu_units: int = 0
    memory_mib: int = 0
    gpus: int = 0

    def __add__(self, other: Size) -> Size:
        return Size(
            cpu_units=self.cpu_units + other.cpu_units,
            memory_mib=self.memory_mib + other.memory_mib,
            gpus=self.gpus + other.gpus,
        )

    def fits_in(self, other: Size) -> bool:
        return self.cpu_units <= other.cpu_units and self.memory_mib <= other.memory_mib and self.gpus <= other.gpus


def size_of(instance_type: str) -> Size:
    """What an instance of the type registers with its cluster."""
    if instance_type not in known():
        raise UnknownInstanceType(f"the local cloud does not know the instance type {instance_type}")
    size = size_in(known()[instance_type])
    memory_mib = int(size.memory_mib * _REGISTERED_MEMORY)
    return Size(cpu_units=size.vcpus * 1024, memory_mib=memory_mib, gpus=size.gpus)
