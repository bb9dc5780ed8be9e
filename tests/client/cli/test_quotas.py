"""Which of the account's quotas an instance counts for, and whether one fits in."""

from typing import Any

import pytest

from client.cli import quotas

VCPUS = {"g6.2xlarge": 8, "p4d.24xlarge": 96, "gr6.4xlarge": 16, "trn1.2xlarge": 8}


class Account:
    def __init__(self, **values: float) -> None:
        self.values = {code.replace("_", "-"): value for code, value in values.items()}

    def get_service_quota(self, *, ServiceCode: str, QuotaCode: str) -> dict[str, Any]:
        assert ServiceCode == "ec2"
        return {"Quota": {"QuotaName": f"quota {QuotaCode}", "Value": self.values[QuotaCode]}}

    def describe_instance_types(self, *, InstanceTypes: list[str]) -> dict[str, Any]:
        return {"InstanceTypes": [{"VCpuInfo": {"DefaultVCpus": VCPUS[one]}} for one in InstanceTypes]}


@pytest.mark.parametrize(
    ("instance_type", "market", "code"),
    [
        ("g6.2xlarge", "on demand", "L_DB2E81BA"),
        ("g6.2xlarge", "Spot", "L_3819A6DF"),
        ("gr6.4xlarge", "on demand", "L_DB2E81BA"),
        ("p4d.24xlarge", "on demand", "L_417A185B"),
        ("p4d.24xlarge", "Spot", "L_7212CCBC"),
    ],
)
def test_an_instance_fits_or_it_is_said_which_quota_to_raise(instance_type: str, market: str, code: str) -> None:
    needed = VCPUS[instance_type]
    fits = quotas.gpu(lambda _: Account(**{code: needed}), market, instance_type=instance_type)
    assert fits.state == "ok"
    short = quotas.gpu(lambda _: Account(**{code: needed - 1}), market, instance_type=instance_type)
    assert short.state == "wrong"
    assert code.replace("_", "-") in short.text and f"{instance_type} has {needed}" in short.text


def test_of_another_family_nothing_is_claimed() -> None:
    assert quotas.gpu(lambda _: Account(), "Spot", instance_type="trn1.2xlarge").state == "unknown"
