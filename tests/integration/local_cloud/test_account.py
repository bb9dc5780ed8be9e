"""What an account may have: the sizes of instance types, and quotas. Nothing is deployed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from belay.aws.instances import Fit, fit, size_of
from belay.cli import quotas
from belay.contract.job import Resources
from belay.policy.fitting import InstanceSize
from tools.local_cloud.clients import Clients, Identity
from tools.local_cloud.cloud import LocalCloud
from tools.local_cloud.faults import ApiError, QuotaIs
from tools.local_cloud.services.quotas import arn


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCloud]:
    with LocalCloud(state_dir=tmp_path_factory.mktemp("account")) as cloud:
        yield cloud


@pytest.fixture(autouse=True)
def no_fault_left(empty: LocalCloud) -> Iterator[None]:
    yield
    empty.clear_faults()


@pytest.mark.parametrize(
    "size",
    [
        InstanceSize("g4dn.xlarge", vcpus=4, memory_mib=16 * 1024, gpus=1),
        InstanceSize("g6.xlarge", vcpus=4, memory_mib=16 * 1024, gpus=1),
        InstanceSize("g6e.12xlarge", vcpus=48, memory_mib=384 * 1024, gpus=4),
        InstanceSize("g6f.large", vcpus=2, memory_mib=8 * 1024, gpus=1),
        InstanceSize("p5.48xlarge", vcpus=192, memory_mib=2048 * 1024, gpus=8),
        InstanceSize("m7i.large", vcpus=2, memory_mib=8 * 1024, gpus=0),
        InstanceSize("dl2q.24xlarge", vcpus=96, memory_mib=768 * 1024, gpus=0),
    ],
)
def test_an_instance_type_is_as_large_as_ec2_says(empty: LocalCloud, size: InstanceSize) -> None:
    assert size_of(empty.client, size.type) == size


def test_an_instance_type_that_does_not_exist_is_refused(empty: LocalCloud) -> None:
    with pytest.raises(ClientError, match=r"InvalidInstanceType.*do not exist: \[g6.tiny\]"):
        empty.client("ec2").describe_instance_types(InstanceTypes=["g6.xlarge", "g6.tiny"])


def test_an_ordinary_account_has_room_for_a_run(empty: LocalCloud) -> None:
    found = fit(empty.client, Resources(), instance_type="g6.xlarge")
    assert (found.faults, found.unchecked) == ([], [])
    assert quotas.vcpus(empty.client, instance_type="g6.xlarge", spot=True).state == "ok"
    assert quotas.fsx(empty.client).text == "Lustre Scratch file systems: 100; Lustre Scratch storage capacity: 100,800"


def test_room_for_one_instance_is_enough(empty: LocalCloud) -> None:
    empty.inject(QuotaIs(code="L-DB2E81BA", value=4))
    assert fit(empty.client, Resources(), instance_type="g6.xlarge").faults == []
    assert "ECS asks for two" in quotas.vcpus(empty.client, instance_type="g6.xlarge", spot=False).text


def test_a_role_sees_the_quotas_that_it_may_see(empty: LocalCloud) -> None:
    iam, sts = empty.client("iam"), empty.client("sts")
    anyone = {"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sts:AssumeRole"}
    role = iam.create_role(RoleName="Reader", AssumeRolePolicyDocument=_policy(anyone))["Role"]["Arn"]
    allowed = [
        {"Effect": "Allow", "Action": "ec2:DescribeInstanceTypes", "Resource": "*"},
        {"Effect": "Allow", "Action": "servicequotas:GetServiceQuota", "Resource": arn("ec2", "L-DB2E81BA")},
    ]
    iam.put_role_policy(RoleName="Reader", PolicyName="reads", PolicyDocument=_policy(*allowed))
    given = sts.assume_role(RoleArn=role, RoleSessionName="reader")["Credentials"]
    identity = Identity(given["AccessKeyId"], given["SecretAccessKey"], given["SessionToken"])
    clients = Clients(endpoint=empty.settings.endpoint)

    def client(service: str) -> Any:
        return clients.get(service, identity=identity)

    assert fit(client, Resources(), instance_type="g6.xlarge") == Fit([], [])
    assert "AccessDenied" in fit(client, Resources(spot=True), instance_type="g6.xlarge").unchecked[0]


def _policy(*statements: dict[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": statements})


def test_a_quota_that_does_not_exist_is_refused(empty: LocalCloud) -> None:
    for service, code in (("ec2", "L-00000000"), ("none", "L-DB2E81BA")):
        with pytest.raises(ClientError, match="NoSuchResourceException"):
            empty.client("service-quotas").get_service_quota(ServiceCode=service, QuotaCode=code)


@pytest.mark.parametrize(
    ("service", "action"), [("ec2", "DescribeInstanceTypes"), ("servicequotas", "GetServiceQuota")]
)
def test_a_question_that_fails_refuses_nothing(empty: LocalCloud, service: str, action: str) -> None:
    empty.inject(ApiError(service=service, action=action, error="AccessDeniedException", status=403))
    found = fit(empty.client, Resources(), instance_type="g6.xlarge")
    assert found.faults == [] and "AccessDeniedException" in found.unchecked[0]
