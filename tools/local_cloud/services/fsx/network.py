"""The subnet and the security groups of a new file system, as EC2 knows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from botocore.exceptions import ClientError

from tools.local_cloud.services.errors import AwsError

LUSTRE_PORT = 988


@dataclass(frozen=True)
class SecurityGroup:
    """What FSx looks at before it uses one."""

    vpc: str
    admits_lustre: bool


class Network(Protocol):
    """Subnets and security groups, wherever they are kept."""

    def vpc_of(self, subnet: str) -> str | None:
        """The VPC of a subnet; None: there is no such subnet."""

    def security_group(self, group: str) -> SecurityGroup | None:
        """A security group; None: there is none of that id."""


def check_network(request: Mapping[str, Any], network: Network) -> None:
    """Refuses what is not there, is in another VPC, or lets no Lustre through.

    "The subnet ID that is either invalid or not part of the VPC specified", and the same for security groups
    (botocore's model, InvalidNetworkSettings). "The provided security groups do not permit Lustre LNET network traffic
    on port 988" (FSx for Lustre guide, "Cannot create a file system because of misconfigured security group"): a group
    must admit it from itself, whatever else it admits (public repositories say so of the error). Only inbound rules are
    read here.
    """
    (subnet,) = request["SubnetIds"]
    vpc = network.vpc_of(subnet)
    if vpc is None:
        raise _invalid(f"The subnet ID '{subnet}' does not exist")
    names = request.get("SecurityGroupIds") or []
    groups = {name: network.security_group(name) for name in names}
    for name, group in groups.items():
        if group is None or group.vpc != vpc:
            raise _invalid(f"The security group ID '{name}' does not exist in the VPC {vpc}")
    if groups and not any(group.admits_lustre for group in groups.values() if group):
        raise _invalid(
            "The file system cannot be created because the provided security groups do not permit Lustre LNET "
            f"network traffic on port {LUSTRE_PORT}"
        )


class Ec2Network:
    """The subnets and security groups of this cloud."""

    def __init__(self, ec2: Any) -> None:
        self._ec2 = ec2

    def vpc_of(self, subnet: str) -> str | None:
        try:
            (found,) = self._ec2.describe_subnets(SubnetIds=[subnet])["Subnets"]
        except (ClientError, ValueError):
            return None
        return str(found["VpcId"])

    def security_group(self, group: str) -> SecurityGroup | None:
        try:
            (found,) = self._ec2.describe_security_groups(GroupIds=[group])["SecurityGroups"]
        except (ClientError, ValueError):
            return None
        return SecurityGroup(found["VpcId"], any(admits_lustre(rule, group) for rule in found["IpPermissions"]))


def admits_lustre(rule: Mapping[str, Any], group: str) -> bool:
    """Whether an inbound rule of the group lets its members talk Lustre to each other."""
    from_itself = any(pair.get("GroupId") == group for pair in rule.get("UserIdGroupPairs") or [])
    if not (from_itself or rule.get("IpRanges")):
        return False
    if rule["IpProtocol"] == "-1":
        return True
    return rule["IpProtocol"] == "tcp" and int(rule["FromPort"]) <= LUSTRE_PORT <= int(rule["ToPort"])


def _invalid(message: str) -> AwsError:
    return AwsError("InvalidNetworkSettings", message)
