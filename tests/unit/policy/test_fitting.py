"""What no instance could take is refused; what might be placed is not."""

import pytest
from moto.utilities.utils import load_resource

from belay.contract.job import Resources
from belay.policy.fitting import InstanceSize, VcpuQuota, faults_of, quota_code, quota_fault

G6_XLARGE = InstanceSize("g6.xlarge", vcpus=4, memory_mib=16384, gpus=1)


def asked(**parts: object) -> Resources:
    return Resources.model_validate(parts)


def test_the_default_job_fits_the_default_instance_type() -> None:
    assert faults_of(Resources(), G6_XLARGE) == []


def test_all_of_its_cpus_and_gpus_may_be_asked_for() -> None:
    assert faults_of(asked(gpus=1, cpus=4), G6_XLARGE) == []


@pytest.mark.parametrize(
    ("parts", "fault"),
    [
        (
            {"gpus": 4},
            "resources.gpus: 4 is more than the 1 of g6.xlarge; ask for at most 1,"
            " or deploy with a larger instance_type",
        ),
        (
            {"cpus": 5},
            "resources.cpus: 5 is more than the 4 vCPUs of g6.xlarge; ask for at most 4,"
            " or deploy with a larger instance_type",
        ),
        (
            {"memory": "16GiB"},
            "resources.memory: 16GiB is more than a task can get of the 16GiB of g6.xlarge; ask for about 15GiB,"
            " or deploy with a larger instance_type",
        ),
    ],
)
def test_each_fault_names_what_would_fit(parts: dict[str, object], fault: str) -> None:
    assert faults_of(asked(**parts), G6_XLARGE) == [fault]


def test_every_fault_is_named_at_once() -> None:
    assert len(faults_of(asked(gpus=2, cpus=8, memory="1TiB"), G6_XLARGE)) == 3


def test_memory_that_aws_has_seen_registered_is_never_refused() -> None:
    """AWS's example: an m4.large of 8192 MiB registers 7985."""
    m4_large = InstanceSize("m4.large", vcpus=2, memory_mib=8192, gpus=0)
    assert faults_of(asked(gpus=0, cpus=1, memory="7985MiB"), m4_large) == []
    assert faults_of(asked(gpus=0, cpus=1, memory="8192MiB"), m4_large) != []


def test_a_type_without_a_gpu_says_so() -> None:
    size = InstanceSize("m7i.large", vcpus=2, memory_mib=8192, gpus=0)
    assert "m7i.large has no NVIDIA GPU; say 0" in faults_of(asked(cpus=1, memory="4GiB"), size)[0]
    assert faults_of(asked(gpus=0, cpus=1, memory="4GiB"), size) == []


@pytest.mark.parametrize(
    ("instance_type", "on_demand", "spot"),
    [
        ("g6.2xlarge", "L-DB2E81BA", "L-3819A6DF"),
        ("gr6.4xlarge", "L-DB2E81BA", "L-3819A6DF"),
        ("p4de.24xlarge", "L-417A185B", "L-7212CCBC"),
        ("p5en.48xlarge", "L-417A185B", "L-C4BD4855"),
        ("p6-b200.48xlarge", "L-417A185B", None),
        ("m7i.large", "L-1216C47A", "L-34B43A08"),
        ("trn1.2xlarge", None, None),
    ],
)
def test_each_family_counts_for_its_quota(instance_type: str, on_demand: str | None, spot: str | None) -> None:
    assert quota_code(instance_type, spot=False) == on_demand
    assert quota_code(instance_type, spot=True) == spot


def test_of_every_nvidia_type_the_quota_on_demand_is_known() -> None:
    """moto has what EC2 itself says."""
    for name, described in load_resource("ec2/resources/instance_types.json").items():
        if any(gpu["Manufacturer"] == "NVIDIA" for gpu in described.get("GpuInfo", {}).get("Gpus", [])):
            assert quota_code(name, spot=False), name


def test_one_instance_must_fit_into_the_quota() -> None:
    assert quota_fault(G6_XLARGE, VcpuQuota("G", "L-1", 4), spot=False) is None
    assert quota_fault(G6_XLARGE, VcpuQuota("G", "L-1", 3), spot=True) == (
        "resources: one g6.xlarge Spot has 4 vCPUs, and the account's quota 'G' is 3; ask AWS for more:"
        " aws service-quotas request-service-quota-increase --service-code ec2 --quota-code L-1 --desired-value 8"
    )
