"""Lustre between instances and file systems, nothing else in; and the three kinds of network."""

from typing import Any

import pytest

from tests.support.deployments import EXISTING_NETWORK
from tools.definitions.asl import states
from tools.definitions.templates import Assembly

INSTANCES = "<BelayTraining/Network/Instances.GroupId>"
FILE_SYSTEMS = "<BelayTraining/Network/FileSystems.GroupId>"
LUSTRE_PORTS = {(988, 988), (1018, 1023)}


def test_lustre_flows_both_ways_on_all_its_ports(assembly: Assembly) -> None:
    ways = {
        (INSTANCES, FILE_SYSTEMS),
        (FILE_SYSTEMS, INSTANCES),
        (FILE_SYSTEMS, FILE_SYSTEMS),
    }
    entering = {(of["SourceSecurityGroupId"], of["GroupId"], *_ports(of)) for of in _rules(assembly, "Ingress")}
    assert entering == {(*way, "tcp", *ports) for way in ways for ports in LUSTRE_PORTS}


def test_servers_answer_nobody_but_instances_and_each_other(assembly: Assembly) -> None:
    leaving = {(of["GroupId"], of["DestinationSecurityGroupId"], *_ports(of)) for of in _rules(assembly, "Egress")}
    to = {INSTANCES, FILE_SYSTEMS}
    assert leaving == {(FILE_SYSTEMS, group, "tcp", *ports) for group in to for ports in LUSTRE_PORTS}
    assert "SecurityGroupEgress" not in assembly.at("Network/FileSystems", "AWS::EC2::SecurityGroup").properties


@pytest.mark.parametrize("network", ["assembly", "private", "existing"])
def test_no_address_may_come_in(request: pytest.FixtureRequest, network: str) -> None:
    deployed: Assembly = request.getfixturevalue(network)
    groups = deployed.of_type("AWS::EC2::SecurityGroup")
    rules = _rules(deployed, "Ingress") + [r for g in groups for r in g.properties.get("SecurityGroupIngress", [])]
    assert rules
    assert [rule for rule in rules if {"CidrIp", "CidrIpv6", "SourcePrefixListId"} & set(rule)] == []


def test_an_idle_public_network_costs_nothing(assembly: Assembly) -> None:
    for paid in ("AWS::EC2::NatGateway", "AWS::EC2::EIP"):
        assert assembly.of_type(paid) == []
    assert {endpoint.properties["VpcEndpointType"] for endpoint in assembly.of_type("AWS::EC2::VPCEndpoint")} == {
        "Gateway"
    }


def test_file_systems_and_instances_are_in_one_subnet(assembly: Assembly) -> None:
    [subnet] = assembly.of_type("AWS::EC2::Subnet")
    for group in assembly.of_type("AWS::AutoScaling::AutoScalingGroup"):
        assert group.properties["VPCZoneIdentifier"] == [f"<{subnet.path}>"]
    assert _scratch(assembly)["SubnetIds"] == [f"<{subnet.path}>"]
    assert _scratch(assembly)["SecurityGroupIds"] == [FILE_SYSTEMS]


def test_a_deployment_can_move_to_another_zone(assembly: Assembly, private: Assembly) -> None:
    """CloudFormation makes the new subnet before it deletes the old one, and EC2 refuses it the same addresses."""
    [somewhere], [in_c] = ([s.properties for s in of.of_type("AWS::EC2::Subnet")] for of in (assembly, private))
    assert in_c["AvailabilityZone"] == "us-east-1c"
    assert somewhere["CidrBlock"] == "10.0.0.0/20"
    assert in_c["CidrBlock"] == "10.0.32.0/20"


def test_a_private_network_has_no_way_to_the_internet(private: Assembly) -> None:
    for way in ("AWS::EC2::InternetGateway", "AWS::EC2::NatGateway", "AWS::EC2::EIP", "AWS::EC2::Route"):
        assert private.of_type(way) == []
    assert [subnet.properties["MapPublicIpOnLaunch"] for subnet in private.of_type("AWS::EC2::Subnet")] == [False]
    for template in private.of_type("AWS::EC2::LaunchTemplate"):
        interfaces = template.properties["LaunchTemplateData"].get("NetworkInterfaces", [])
        assert not [one for one in interfaces if one.get("AssociatePublicIpAddress")]


def test_a_private_network_reaches_what_training_needs(private: Assembly) -> None:
    services = {
        endpoint.properties["ServiceName"].removeprefix("com.amazonaws.us-east-1.")
        for endpoint in private.of_type("AWS::EC2::VPCEndpoint")
    }
    assert services == {"s3", "ecs", "ecs-agent", "ecs-telemetry", "ecr.api", "ecr.dkr", "logs"}


def test_the_endpoints_of_a_private_network_hear_instances_and_nobody_else(private: Assembly) -> None:
    [instances] = [g for g in private.of_type("AWS::EC2::SecurityGroup") if g.path.endswith("/Network/Instances")]
    endpoints = [e.properties for e in private.of_type("AWS::EC2::VPCEndpoint")]
    groups = {group for e in endpoints if e["VpcEndpointType"] == "Interface" for group in e["SecurityGroupIds"]}
    assert groups
    heard = {(of["SourceSecurityGroupId"], *_ports(of)) for of in _rules(private, "Ingress") if of["GroupId"] in groups}
    assert heard == {(f"<{instances.path}.GroupId>", "tcp", 443, 443)}


def test_an_existing_network_is_used_and_nothing_of_it_is_made(existing: Assembly) -> None:
    made = [
        r.path for r in existing.resources if r.type in ("AWS::EC2::VPC", "AWS::EC2::Subnet", "AWS::EC2::VPCEndpoint")
    ]
    assert made == []
    # With a customer's key the arguments are one expression.
    assert f"'SubnetIds': ['{EXISTING_NETWORK['subnet_id']}']" in str(_scratch(existing))
    for group in existing.of_type("AWS::EC2::SecurityGroup"):
        assert group.properties["VpcId"] == EXISTING_NETWORK["vpc_id"]
    for instances in existing.of_type("AWS::AutoScaling::AutoScalingGroup"):
        assert instances.properties["VPCZoneIdentifier"] == [EXISTING_NETWORK["subnet_id"]]


def _scratch(assembly: Assembly) -> Any:
    return states(assembly.machine("Train"))["Create scratch file system"]["Arguments"]


def _rules(assembly: Assembly, direction: str) -> list[dict[str, Any]]:
    return [rule.properties for rule in assembly.of_type(f"AWS::EC2::SecurityGroup{direction}")]


def _ports(rule: dict[str, Any]) -> tuple[str, int, int]:
    return rule["IpProtocol"], rule["FromPort"], rule["ToPort"]
