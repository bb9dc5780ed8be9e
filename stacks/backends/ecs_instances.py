"""The instances that join the cluster: their role, their two markets, and what they do before they take a task."""

from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from belay.contract.task import HOST_FACTS
from stacks.backends.base import STOP_TIMEOUT
from stacks.network import Network
from stacks.settings import Settings

_METADATA = "http://169.254.169.254/latest"
_INSTALL_LUSTRE = "dnf install -y lustre-client"


def instance_role(scope: Construct, *, any_task_arn: str, log_group: logs.ILogGroup) -> iam.Role:
    role = iam.Role(
        scope,
        "InstanceRole",
        assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"),
        description="Belay GPU instances: the ECS agent, nothing else",
    )
    # CDK lets the agent write into any log group of the account; what it has to say goes into one.
    role.add_to_policy(
        iam.PolicyStatement(
            effect=iam.Effect.DENY,
            actions=["logs:CreateLogStream", "logs:PutLogEvents"],
            not_resources=[log_group.log_group_arn],
        )
    )
    # A person may tag a task to have it ended at once; the agent tells the task (docs/decisions/0019).
    role.add_to_policy(iam.PolicyStatement(actions=["ecs:ListTagsForResource"], resources=[any_task_arn]))
    return role


def capacity_provider(
    scope: Construct, market: str, *, spot: bool, role: iam.IRole, network: Network, settings: Settings
) -> ecs.AsgCapacityProvider:
    """Scales from zero."""
    template = ec2.LaunchTemplate(
        scope,
        f"{market}Template",
        instance_type=ec2.InstanceType(settings.instance_type),
        machine_image=ecs.EcsOptimizedImage.amazon_linux2023(ecs.AmiHardwareType.GPU),
        role=role,
        security_group=network.instance_group,
        user_data=_user_data(),
        # With a hop limit of one, no container reaches the instance's credentials.
        require_imdsv2=True,
        http_put_response_hop_limit=1,
        spot_options=ec2.LaunchTemplateSpotOptions() if spot else None,
        associate_public_ip_address=True if settings.network == "public" else None,
        block_devices=[
            ec2.BlockDevice(
                device_name="/dev/xvda",
                volume=ec2.BlockDeviceVolume.ebs(
                    settings.root_volume_gib, encrypted=True, volume_type=ec2.EbsDeviceVolumeType.GP3
                ),
            )
        ],
    )
    group = autoscaling.AutoScalingGroup(
        scope,
        f"{market}Group",
        vpc=network.vpc,
        vpc_subnets=ec2.SubnetSelection(subnets=[network.subnet]),
        launch_template=template,
        min_capacity=0,
        max_capacity=settings.max_instances,
        new_instances_protected_from_scale_in=True,
    )
    return ecs.AsgCapacityProvider(
        scope,
        f"{market}Provider",
        auto_scaling_group=group,
        # An instance is only taken away when no task is on it.
        enable_managed_termination_protection=True,
        enable_managed_draining=True,
        target_capacity_percent=100,
    )


def _user_data() -> ec2.UserData:
    """Before the agent takes a task, the kernel must know Lustre: containers share it."""
    commands = ec2.UserData.for_linux()
    # ECS frees only those instances from their protection that it knows. One that never joins would be paid for ever;
    # off, it is unhealthy, and its group replaces it or lets it go.
    commands.add_on_exit_commands('test "$exitCode" -eq 0 || shutdown -h now')
    commands.add_commands(
        "set -eu",
        # While it boots, the instance may be installing for itself, and then refuses us.
        f"for _ in {{1..12}}; do {_INSTALL_LUSTRE} && break; sleep 10; done",
        "modprobe lustre",
        # For the run's records: a container cannot ask for it. Without it an instance is as good.
        f"mkdir -p {HOST_FACTS}",
        f"curl -sf -m 5 -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' {_METADATA}/api/token -o /run/belay-token"
        f' && curl -sf -m 5 -H "X-aws-ec2-metadata-token: $(cat /run/belay-token)" {_METADATA}/meta-data/ami-id'
        f" -o {HOST_FACTS}/ami-id || true",
        f"echo ECS_CONTAINER_STOP_TIMEOUT={STOP_TIMEOUT.to_seconds()}s >> /etc/ecs/ecs.config",
        "echo ECS_IMAGE_PULL_BEHAVIOR=prefer-cached >> /etc/ecs/ecs.config",
        # An instance that Spot takes back gets no new task: the next attempt would begin on it.
        "echo ECS_ENABLE_SPOT_INSTANCE_DRAINING=true >> /etc/ecs/ecs.config",
    )
    return commands
