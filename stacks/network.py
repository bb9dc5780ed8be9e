"""Where training runs: one subnet in one zone, because a file system and its clients must share both."""

from collections.abc import Mapping, Sequence

from aws_cdk import RemovalPolicy, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from stacks.settings import ExistingNetwork, Settings

# Lustre's own port, and the range from which servers answer; both sides open both.
_LUSTRE = (ec2.Port.tcp(988), ec2.Port.tcp_range(1018, 1023))

Endpoints = Mapping[str, ec2.InterfaceVpcEndpointAwsService]


class Network(Construct):
    """Nothing comes in from anywhere. Instances and file systems talk Lustre to each other, and to nobody else."""

    def __init__(self, scope: Construct, id: str, *, settings: Settings, endpoints: Endpoints) -> None:
        super().__init__(scope, id)
        if isinstance(settings.network, ExistingNetwork):
            self.vpc, self.subnet = self._existing(settings.network)
        else:
            self.vpc, self.subnet = self._own(settings, private=settings.network == "private")
        self.instance_group = ec2.SecurityGroup(self, "Instances", vpc=self.vpc, description="Belay: GPU instances")
        self.file_system_group = ec2.SecurityGroup(
            self, "FileSystems", vpc=self.vpc, description="Belay: scratch file systems", allow_all_outbound=False
        )
        if settings.network == "private":
            self._add_endpoints({**endpoints, "Logs": ec2.InterfaceVpcEndpointAwsService.CLOUDWATCH_LOGS})
        for port in _LUSTRE:
            self.file_system_group.add_ingress_rule(self.instance_group, port, "Lustre, from instances")
            self.file_system_group.add_ingress_rule(self.file_system_group, port, "Lustre, among servers")
            self.file_system_group.add_egress_rule(self.instance_group, port, "Lustre, to instances")
            self.file_system_group.add_egress_rule(self.file_system_group, port, "Lustre, among servers")
            self.instance_group.add_ingress_rule(self.file_system_group, port, "Lustre, from file systems")

    def _add_endpoints(self, endpoints: Endpoints) -> None:
        """Only the instances reach them."""
        group = ec2.SecurityGroup(
            self, "Endpoints", vpc=self.vpc, description="Belay: AWS services", allow_all_outbound=False
        )
        group.add_ingress_rule(self.instance_group, ec2.Port.tcp(443), "HTTPS, from instances")
        for name, service in endpoints.items():
            self.vpc.add_interface_endpoint(name, service=service, security_groups=[group], open=False)

    def may_be_used(self) -> Sequence[iam.PolicyStatement]:
        """FSx looks at the network in the name of who creates a file system (as AWS's AmazonFSxFullAccess has it)."""
        look = ("DescribeSubnets", "DescribeVpcs", "DescribeSecurityGroups", "GetSecurityGroupsForVpc")
        return [
            iam.PolicyStatement(
                actions=[f"ec2:{action}" for action in look],
                resources=["*"],
                conditions={"ForAnyValue:StringEquals": {"aws:CalledVia": "fsx.amazonaws.com"}},
            )
        ]

    def _existing(self, network: ExistingNetwork) -> tuple[ec2.IVpc, ec2.ISubnet]:
        vpc = ec2.Vpc.from_vpc_attributes(
            self,
            "Vpc",
            vpc_id=network.vpc_id,
            availability_zones=[network.availability_zone],
            private_subnet_ids=[network.subnet_id],
        )
        return vpc, vpc.private_subnets[0]

    def _own(self, settings: Settings, *, private: bool) -> tuple[ec2.IVpc, ec2.ISubnet]:
        kind = ec2.SubnetType.PRIVATE_ISOLATED if private else ec2.SubnetType.PUBLIC
        zone = settings.availability_zone or Stack.of(self).availability_zones[0]
        vpc = ec2.Vpc(
            self,
            "Vpc",
            availability_zones=[zone],
            nat_gateways=0,
            subnet_configuration=[
                *(
                    ec2.SubnetConfiguration(name=f"zone{number}", subnet_type=kind, cidr_mask=20, reserved=True)
                    for number in range(_ranges_before(settings.availability_zone))
                ),
                ec2.SubnetConfiguration(name="training", subnet_type=kind, cidr_mask=20),
            ],
            restrict_default_security_group=False,
        )
        # Free, and the datasets' and images' way in: no byte of S3 crosses the internet.
        vpc.add_gateway_endpoint("S3", service=ec2.GatewayVpcEndpointAwsService.S3)
        refused = logs.LogGroup(self, "Refused", retention=settings.log_retention, removal_policy=RemovalPolicy.DESTROY)
        vpc.add_flow_log(
            "Flow",
            traffic_type=ec2.FlowLogTrafficType.REJECT,
            destination=ec2.FlowLogDestination.to_cloud_watch_logs(refused),
        )
        return vpc, vpc.select_subnets(subnet_type=kind).subnets[0]


def _ranges_before(zone: str | None) -> int:
    """Each zone has a range of addresses of its own: moved to another one, the new subnet is made while the old one is
    there still, and two of one range cannot be."""
    return max(0, "abcdefghijklmnop".find(zone[-1])) if zone else 0
