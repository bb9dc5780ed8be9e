"""What FSx refuses when a file system is created or tagged, beyond its model."""

from __future__ import annotations

from typing import Any

import pytest

from tools.local_cloud.faults import QuotaIs, TagsAppearLate
from tools.local_cloud.services.fsx.network import SecurityGroup, admits_lustre
from tools.local_cloud.services.quotas import SCRATCH_FILE_SYSTEMS

from .conftest import GROUP, PERSISTENT, SCRATCH, World

OTHER_GROUP = "sg-00000000000000001"
KEY = "arn:aws:kms:us-east-1:123456789012:key/one"


def lustre(base: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {**base, "LustreConfiguration": {**base["LustreConfiguration"], **more}}


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        ({**SCRATCH, "KmsKeyId": KEY}, "KmsKeyId is not supported"),
        ({**SCRATCH, "StorageType": "HDD"}, "StorageType HDD is not supported"),
        ({**SCRATCH, "StorageType": "INTELLIGENT_TIERING"}, "INTELLIGENT_TIERING is not supported"),
        ({**PERSISTENT, "StorageType": "HDD"}, "StorageType HDD is not supported"),
        (lustre(SCRATCH, AutomaticBackupRetentionDays=7), "backups are not supported"),
        (lustre(SCRATCH, DailyAutomaticBackupStartTime="05:00"), "backups are not supported"),
        (lustre(SCRATCH, CopyTagsToBackups=True), "backups are not supported"),
        (lustre(PERSISTENT, DailyAutomaticBackupStartTime="05:00"), "automatic backups are off"),
        ({**PERSISTENT, "FileSystemTypeVersion": "2.10"}, "PERSISTENT_2 needs Lustre version 2.12"),
        ({**SCRATCH, "FileSystemTypeVersion": "2.14"}, "Invalid FileSystemTypeVersion"),
        ({**SCRATCH, "SubnetIds": SCRATCH["SubnetIds"] * 2}, "Exactly one subnet"),
    ],
)
def test_what_a_deployment_type_does_not_have_is_refused(world: World, request_: dict[str, Any], why: str) -> None:
    refused = world.refused("CreateFileSystem", **request_)
    assert (refused.code, why in refused.message) == ("BadRequest", True)


@pytest.mark.parametrize("request_", [{**PERSISTENT, "KmsKeyId": KEY}, lustre(SCRATCH, DataCompressionType="LZ4")])
def test_what_it_has_is_made(world: World, request_: dict[str, Any]) -> None:
    assert world.call("CreateFileSystem", **request_)["FileSystem"]["Lifecycle"] == "CREATING"


def test_a_parameter_that_this_cloud_does_not_have_is_not_ignored(world: World) -> None:
    refused = world.refused("CreateFileSystem", **lustre(PERSISTENT, EfaEnabled=True))
    assert (refused.code, "EfaEnabled" in refused.message) == ("NotImplemented", True)


def test_a_subnet_that_is_not_there_is_refused(world: World) -> None:
    refused = world.refused("CreateFileSystem", **{**SCRATCH, "SubnetIds": ["subnet-00000000000000001"]})
    assert refused.code == "InvalidNetworkSettings"


@pytest.mark.parametrize(
    ("group", "why"),
    [
        (None, "does not exist"),
        (SecurityGroup("vpc-2", admits_lustre=True), "does not exist in the VPC vpc-1"),
        (SecurityGroup("vpc-1", admits_lustre=False), "port 988"),
    ],
)
def test_a_security_group_that_does_not_serve_is_refused(world: World, group: SecurityGroup | None, why: str) -> None:
    if group:
        world.ec2.groups[OTHER_GROUP] = group
    refused = world.refused("CreateFileSystem", **SCRATCH, SecurityGroupIds=[OTHER_GROUP])
    assert (refused.code, why in refused.message) == ("InvalidNetworkSettings", True)


def test_one_security_group_that_lets_lustre_through_is_enough(world: World) -> None:
    world.ec2.groups[OTHER_GROUP] = SecurityGroup("vpc-1", admits_lustre=False)
    world.file_system(SecurityGroupIds=[OTHER_GROUP, GROUP])


PORT = {"IpProtocol": "tcp", "FromPort": 988, "ToPort": 988}
FROM_ITSELF, FROM_OTHERS = {"UserIdGroupPairs": [{"GroupId": GROUP}]}, {"UserIdGroupPairs": [{"GroupId": OTHER_GROUP}]}


@pytest.mark.parametrize(
    ("rule", "admits"),
    [
        ({**PORT, **FROM_ITSELF}, True),
        ({**PORT, **FROM_OTHERS}, False),
        ({**PORT, "IpRanges": [{"CidrIp": "10.0.0.0/16"}]}, True),
        ({**PORT, "FromPort": 900, "ToPort": 1023, **FROM_ITSELF}, True),
        ({**PORT, "FromPort": 1018, "ToPort": 1023, **FROM_ITSELF}, False),
        ({**PORT, "IpProtocol": "udp", **FROM_ITSELF}, False),
        ({"IpProtocol": "-1", **FROM_ITSELF}, True),
    ],
)
def test_a_security_group_must_let_lustre_through_among_its_members(rule: dict[str, Any], admits: bool) -> None:
    assert admits_lustre(rule, GROUP) == admits


@pytest.mark.parametrize("keys", [["a", "a"], ["aws:name"], ["AWS:name"]])
def test_tag_keys_are_unique_and_not_those_of_aws(world: World, keys: list[str]) -> None:
    tags = [{"Key": key, "Value": "x"} for key in keys]
    assert world.refused("CreateFileSystem", **SCRATCH, Tags=tags).code == "BadRequest"
    made = world.call("CreateFileSystem", **SCRATCH)["FileSystem"]
    assert world.refused("TagResource", ResourceARN=made["ResourceARN"], Tags=tags).code == "BadRequest"


def test_a_resource_has_at_most_fifty_tags(world: World) -> None:
    tags = [{"Key": f"key-{one}", "Value": "x"} for one in range(50)]
    arn = world.call("CreateFileSystem", **SCRATCH, Tags=tags)["FileSystem"]["ResourceARN"]
    world.call("TagResource", ResourceARN=arn, Tags=[{"Key": "key-0", "Value": "y"}])
    assert world.refused("TagResource", ResourceARN=arn, Tags=[{"Key": "one-more", "Value": "y"}]).code == "BadRequest"


def test_an_account_has_so_much_scratch_storage_and_no_more(world: World) -> None:
    """84 of the smallest: the storage ends before the number of file systems."""
    for _ in range(84):
        world.call("CreateFileSystem", **SCRATCH)
    refused = world.refused("CreateFileSystem", **SCRATCH)
    assert (refused.code, "TOTAL_STORAGE" in refused.message) == ("ServiceLimitExceeded", True)
    # Persistent file systems have a quota of their own.
    world.call("CreateFileSystem", **PERSISTENT)


def test_an_account_may_have_another_quota(world: World) -> None:
    """The one that Service Quotas shows is the one that counts."""
    world.faults.add(QuotaIs(code=SCRATCH_FILE_SYSTEMS, value=1))
    world.call("CreateFileSystem", **SCRATCH)
    refused = world.refused("CreateFileSystem", **SCRATCH)
    assert (refused.code, "FILE_SYSTEM_COUNT" in refused.message) == ("ServiceLimitExceeded", True)


def test_under_a_fault_tags_appear_late(world: World) -> None:
    def shown() -> list[dict[str, str]]:
        (found,) = world.call("DescribeFileSystems")["FileSystems"]
        return list(found["Tags"])

    world.faults.add(TagsAppearLate(seconds=60, times=2))
    first, second = {"Key": "belay:state", "Value": "empty"}, {"Key": "belay:state", "Value": "in-use"}
    arn = world.call("CreateFileSystem", **SCRATCH, Tags=[first])["FileSystem"]["ResourceARN"]
    assert shown() == []
    world.clock.advance(61)
    assert shown() == [first]
    world.call("TagResource", ResourceARN=arn, Tags=[second])
    assert shown() == [first]
    assert world.call("ListTagsForResource", ResourceARN=arn)["Tags"] == [second]
    world.clock.advance(61)
    assert shown() == [second]
