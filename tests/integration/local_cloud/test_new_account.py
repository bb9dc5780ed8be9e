"""An account as AWS gives it out: small quotas, a concurrency of 10, no service-linked roles, no resource policies."""

from __future__ import annotations

import io
import json
import shlex
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from belay.aws.instances import fit
from belay.cli import quotas
from belay.contract.job import Resources
from tools.local_cloud.clients import Clients, Identity
from tools.local_cloud.cloud import LocalCloud
from tools.local_cloud.platform.lambdas import kept_while_throttled

from .machines import Machines
from .waiting import eventually

# Says in the folder that it began, and waits there for the word to end.
WAITS = """
import pathlib, time, uuid
def handler(event, context):
    folder = pathlib.Path(event["folder"])
    (folder / uuid.uuid4().hex).touch()
    while not (folder / "end").exists():
        time.sleep(0.1)
"""


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCloud]:
    with LocalCloud(state_dir=tmp_path_factory.mktemp("new"), time_scale=1000, new_account=True) as cloud:
        yield cloud


def role(cloud: LocalCloud, name: str, *allowed: dict[str, Any]) -> str:
    iam = cloud.client("iam")
    services = ["states.amazonaws.com", "lambda.amazonaws.com"]
    trust = {"Effect": "Allow", "Principal": {"Service": services, "AWS": "*"}, "Action": "sts:AssumeRole"}
    made = iam.create_role(RoleName=name, AssumeRolePolicyDocument=policy(trust))["Role"]["Arn"]
    if allowed:
        iam.put_role_policy(RoleName=name, PolicyName="allowed", PolicyDocument=policy(*allowed))
    return str(made)


def policy(*statements: dict[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": statements})


def allow(action: str, resource: str = "*") -> dict[str, Any]:
    return {"Effect": "Allow", "Action": action, "Resource": resource}


def fsx_as(cloud: LocalCloud, role_arn: str) -> Any:
    given = cloud.client("sts").assume_role(RoleArn=role_arn, RoleSessionName="first")["Credentials"]
    identity = Identity(given["AccessKeyId"], given["SecretAccessKey"], given["SessionToken"])
    return Clients(endpoint=cloud.settings.endpoint).get("fsx", identity=identity)


def names_of_linked_roles(cloud: LocalCloud) -> set[str]:
    listed = cloud.client("iam").list_roles(PathPrefix="/aws-service-role/")["Roles"]
    return {one["RoleName"] for one in listed}


def function(cloud: LocalCloud, name: str) -> str:
    code = io.BytesIO()
    with zipfile.ZipFile(code, "w") as archive:
        archive.writestr("waits.py", WAITS)
    made = cloud.client("lambda").create_function(
        FunctionName=name,
        Runtime="python3.14",
        Handler="waits.handler",
        Role=role(cloud, f"{name}-role"),
        Code={"ZipFile": code.getvalue()},
        Timeout=60,
    )
    return str(made["FunctionArn"])


def test_it_has_no_room_for_gpus_until_aws_grants_what_the_sentence_asks_for(new: LocalCloud) -> None:
    [fault] = fit(new.client, Resources(), instance_type="g6.xlarge").faults
    words = shlex.split(fault.partition("aws service-quotas request-service-quota-increase ")[2])
    asked = dict(zip(words[::2], words[1::2], strict=True))
    client = new.client("service-quotas")
    request = {
        "ServiceCode": asked["--service-code"],
        "QuotaCode": asked["--quota-code"],
        "DesiredValue": float(asked["--desired-value"]),
    }
    assert client.request_service_quota_increase(**request)["RequestedQuota"]["Status"] == "PENDING"
    with pytest.raises(ClientError, match="ResourceAlreadyExistsException"):
        client.request_service_quota_increase(**request)
    eventually(lambda: fit(new.client, Resources(), instance_type="g6.xlarge").faults == [])
    with pytest.raises(ClientError, match="IllegalArgumentException"):
        client.request_service_quota_increase(**request)


def test_it_has_some_room_for_cpus_and_file_systems(new: LocalCloud) -> None:
    assert quotas.vcpus(new.client, instance_type="m7i.large", spot=False).state == "ok"
    assert quotas.fsx(new.client).state == "ok"


def test_the_first_file_system_needs_the_right_to_make_the_role_of_fsx(new: LocalCloud) -> None:
    assert "AWSServiceRoleForAmazonFSx" not in names_of_linked_roles(new)
    vpc = new.client("ec2").create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    subnet = new.client("ec2").create_subnet(VpcId=vpc, CidrBlock="10.0.0.0/24")["Subnet"]["SubnetId"]
    asked = {"FileSystemType": "LUSTRE", "StorageCapacity": 1200, "SubnetIds": [subnet]}
    without = fsx_as(new, role(new, "without", allow("fsx:*")))
    with pytest.raises(ClientError, match="AccessDenied"):
        without.create_file_system(**asked)

    linked = "arn:aws:iam::123456789012:role/aws-service-role/fsx.amazonaws.com/*"
    rights = (allow("fsx:*"), allow("iam:CreateServiceLinkedRole", linked))
    fsx_as(new, role(new, "with", *rights)).create_file_system(**asked)
    assert "AWSServiceRoleForAmazonFSx" in names_of_linked_roles(new)
    without.create_file_system(**asked)


def test_a_service_linked_role_has_the_name_that_aws_gives_it_once(new: LocalCloud) -> None:
    iam = new.client("iam")
    made = iam.create_service_linked_role(AWSServiceName="spot.amazonaws.com")["Role"]
    assert iam.get_role(RoleName="AWSServiceRoleForEC2Spot")["Role"]["Path"] == made["Path"]
    with pytest.raises(ClientError, match="AWSServiceRoleForEC2Spot has been taken in this account"):
        iam.create_service_linked_role(AWSServiceName="spot.amazonaws.com")


def test_an_eleventh_function_at_once_is_refused_with_a_name_that_a_flow_can_retry(
    new: LocalCloud, tmp_path: Path
) -> None:
    waits = function(new, "waits")
    machines = Machines(new, role(new, "machine", allow("lambda:*")))
    call = {"FunctionName": waits, "Payload": {"folder": str(tmp_path)}}
    state = {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "Arguments": call, "End": True}
    machine = machines.make("Call", {"Call": state})
    for _ in range(10):
        new.client("lambda").invoke(FunctionName=waits, Payload=json.dumps(call["Payload"]), InvocationType="Event")
    eventually(lambda: len(list(tmp_path.iterdir())) == 10)
    assert machines.end(machines.start(machine))["error"] == "Lambda.TooManyRequestsException"
    (tmp_path / "end").touch()
    eventually(lambda: machines.end(machines.start(machine))["status"] == "SUCCEEDED")


def test_an_event_waits_until_there_is_room_for_its_function() -> None:
    answers, waited = [{"throttle": True}] * 11 + [{"body": "done"}], list[float]()
    deliver = kept_while_throttled(lambda _function, _event: answers.pop(0), waited.append)
    assert deliver({}, {}) == {"body": "done"}
    assert waited == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]


def test_a_machine_that_may_not_make_a_log_delivery_is_not_created(new: LocalCloud) -> None:
    new.client("logs").create_log_group(logGroupName="/aws/vendedlogs/states/flow")
    group = "arn:aws:logs:us-east-1:123456789012:log-group:/aws/vendedlogs/states/flow:*"
    logging = {"level": "ALL", "destinations": [{"cloudWatchLogsLogGroup": {"logGroupArn": group}}]}
    definition = json.dumps({"StartAt": "A", "States": {"A": {"Type": "Pass", "End": True}}})
    create = new.client("stepfunctions").create_state_machine
    with pytest.raises(ClientError, match="not authorized to access the Log Destination"):
        create(name="silent", definition=definition, roleArn=role(new, "mute"), loggingConfiguration=logging)
    create(
        name="logged", definition=definition, roleArn=role(new, "log", allow("logs:*")), loggingConfiguration=logging
    )


def test_an_ordinary_account_has_the_roles_and_the_room(cloud: LocalCloud) -> None:
    wanted = {"AWSServiceRoleForAmazonFSx", "AWSServiceRoleForECS", "AWSServiceRoleForAutoScaling"}
    assert wanted <= names_of_linked_roles(cloud)
    assert fit(cloud.client, Resources(), instance_type="g6.xlarge").faults == []
