"""FSx looks at the subnets and security groups that EC2 has."""

from __future__ import annotations

from typing import Any

import pytest

from tools.local_cloud.cloud import LocalCloud

LUSTRE = {"IpProtocol": "tcp", "FromPort": 988, "ToPort": 988}


@pytest.fixture(scope="module")
def network(cloud: LocalCloud) -> tuple[str, str]:
    """A subnet, and a security group that lets nothing in."""
    ec2 = cloud.client("ec2")
    vpc = ec2.create_vpc(CidrBlock="10.9.0.0/16")["Vpc"]["VpcId"]
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.9.0.0/24")["Subnet"]["SubnetId"]
    group = ec2.create_security_group(GroupName="lustre", Description="lustre", VpcId=vpc)["GroupId"]
    return subnet, group


def create(cloud: LocalCloud, subnet: str, *groups: str) -> dict[str, Any]:
    made: dict[str, Any] = cloud.client("fsx").create_file_system(
        FileSystemType="LUSTRE",
        StorageCapacity=1200,
        SubnetIds=[subnet],
        LustreConfiguration={"DeploymentType": "SCRATCH_2"},
        **({"SecurityGroupIds": list(groups)} if groups else {}),
    )["FileSystem"]
    return made


def test_a_subnet_or_group_that_ec2_does_not_have_is_refused(cloud: LocalCloud, network: tuple[str, str]) -> None:
    refused = cloud.client("fsx").exceptions.InvalidNetworkSettings
    with pytest.raises(refused, match="does not exist"):
        create(cloud, "subnet-0123456789abcdef0")
    with pytest.raises(refused, match="does not exist"):
        create(cloud, network[0], "sg-0123456789abcdef0")


def test_a_group_must_let_lustre_in_from_itself(cloud: LocalCloud, network: tuple[str, str]) -> None:
    subnet, group = network
    with pytest.raises(cloud.client("fsx").exceptions.InvalidNetworkSettings, match="port 988"):
        create(cloud, subnet, group)
    rule = {**LUSTRE, "UserIdGroupPairs": [{"GroupId": group}]}
    cloud.client("ec2").authorize_security_group_ingress(GroupId=group, IpPermissions=[rule])
    assert create(cloud, subnet, group)["Lifecycle"] == "CREATING"
