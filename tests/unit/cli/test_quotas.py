"""Whether the account's quotas have room for what a run asks for."""

from types import SimpleNamespace
from typing import Any

import pytest

from belay.cli import quotas
from tools.docgen.command_check import check

VCPUS = {"g6.2xlarge": 8, "trn1.2xlarge": 8}
CODES = {False: "L-DB2E81BA", True: "L-3819A6DF"}


class Account:
    def __init__(self, vcpus: float = 0, **fsx: float) -> None:
        self.vcpus, self.fsx = vcpus, fsx

    def get_service_quota(self, *, ServiceCode: str, QuotaCode: str) -> dict[str, Any]:
        assert ServiceCode == "ec2"
        return {"Quota": {"QuotaName": f"quota {QuotaCode}", "Value": self.vcpus}}

    def describe_instance_types(self, *, InstanceTypes: list[str]) -> dict[str, Any]:
        sizes = {
            "InstanceType": InstanceTypes[0],
            "VCpuInfo": {"DefaultVCpus": VCPUS[InstanceTypes[0]]},
            "MemoryInfo": {"SizeInMiB": 32768},
        }
        return {"InstanceTypes": [sizes]}

    def get_paginator(self, operation: str) -> Any:
        assert operation == "list_service_quotas"
        listed = [
            {"QuotaName": f"Lustre Scratch {name.replace('_', ' ')}", "Value": it} for name, it in self.fsx.items()
        ]
        return SimpleNamespace(paginate=lambda ServiceCode: [{"Quotas": listed}])


@pytest.mark.parametrize("spot", [False, True])
def test_one_instance_must_fit_and_the_command_that_asks_for_more_is_valid(spot: bool) -> None:
    found = quotas.vcpus(lambda _: Account(7), instance_type="g6.2xlarge", spot=spot)
    assert found.state == "wrong" and f"'quota {CODES[spot]}' is 7, g6.2xlarge has 8" in found.text
    command = found.text[found.text.index("aws service-quotas") :]
    check(command)
    assert command.endswith("--desired-value 16")


def test_room_for_one_is_enough_and_it_is_said_that_ecs_asks_for_two() -> None:
    found = quotas.vcpus(lambda _: Account(15), instance_type="g6.2xlarge", spot=False)
    assert found.state == "ok" and "ECS asks for two" in found.text


def test_room_for_two_is_all_that_a_run_asks_for() -> None:
    found = quotas.vcpus(lambda _: Account(16), instance_type="g6.2xlarge", spot=False)
    assert found.state == "ok" and "two" not in found.text


def test_of_another_family_nothing_is_claimed() -> None:
    assert quotas.vcpus(lambda _: Account(), instance_type="trn1.2xlarge", spot=True).state == "unknown"


@pytest.mark.parametrize(
    ("file_systems", "storage_capacity", "state"), [(1, 1200, "ok"), (0, 1200, "wrong"), (1, 1199, "wrong")]
)
def test_the_smallest_file_system_must_fit(file_systems: float, storage_capacity: float, state: str) -> None:
    account = Account(file_systems=file_systems, storage_capacity=storage_capacity)
    assert quotas.fsx(lambda _: account).state == state


def test_quotas_that_are_not_named_are_unknown() -> None:
    assert quotas.fsx(lambda _: Account()).state == "unknown"
