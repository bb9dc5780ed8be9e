"""The GPUs: a cluster that is empty, and so free, until a job comes; and the task that trains."""

from pathlib import Path

from aws_cdk import CfnDeletionPolicy, Duration, RemovalPolicy, Size, Stack
from aws_cdk import aws_autoscaling as autoscaling
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecr_assets as ecr_assets
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from stacks.network import Network
from stacks.settings import Settings

_REPOSITORY = Path(__file__).parent.parent
# What a trainer gets between SIGTERM and SIGKILL, to save and commit. A Spot warning leaves two minutes in all.
STOP_TIMEOUT = Duration.seconds(110)
_INSTALL_LUSTRE = "dnf install -y lustre-client"


class Compute(Construct):
    """Two capacity providers, on demand and spot, each scaling from zero; one task definition for all jobs."""

    container_name = "trainer"

    def __init__(self, scope: Construct, id: str, *, network: Network, settings: Settings) -> None:
        super().__init__(scope, id)
        self._settings = settings
        self._network = network
        self.family = f"{settings.deployment}-trainer"
        self.cluster = ecs.Cluster(
            self, "Cluster", vpc=network.vpc, container_insights_v2=ecs.ContainerInsights.ENABLED
        )
        self.log_group = logs.LogGroup(
            self, "TrainerLog", retention=settings.log_retention, removal_policy=RemovalPolicy.DESTROY
        )
        self._instance_role = self._make_instance_role()
        self.on_demand_provider = self._provider("OnDemand", spot=False)
        self.spot_provider = self._provider("Spot", spot=True)
        self.trainer = self._task_definition()

    # ---- what others may do with it

    @property
    def _any_task_arn(self) -> str:
        return Stack.of(self).format_arn(service="ecs", resource="task", resource_name=f"{self.cluster.cluster_name}/*")

    def may_stop_tasks(self) -> iam.PolicyStatement:
        return self._on_tasks("ecs:StopTask")

    def may_describe_tasks(self) -> iam.PolicyStatement:
        return self._on_tasks("ecs:DescribeTasks")

    def may_list_tasks(self) -> iam.PolicyStatement:
        return iam.PolicyStatement(
            actions=["ecs:ListTasks"], resources=["*"], conditions={"ArnEquals": self._in_this_cluster()}
        )

    def may_list_instances(self) -> iam.PolicyStatement:
        return iam.PolicyStatement(actions=["ecs:ListContainerInstances"], resources=[self.cluster.cluster_arn])

    def may_run_training(self) -> list[iam.PolicyStatement]:
        execution_role = self.trainer.obtain_execution_role()
        return [
            iam.PolicyStatement(
                actions=["ecs:RunTask"],
                # Any revision: a run that was under way at an update tries again with the one it began with.
                resources=[
                    Stack.of(self).format_arn(
                        service="ecs", resource="task-definition", resource_name=f"{self.family}:*"
                    )
                ],
                conditions={"ArnEquals": self._in_this_cluster()},
            ),
            self.may_stop_tasks(),
            self.may_describe_tasks(),
            iam.PolicyStatement(
                actions=["iam:PassRole"],
                resources=[self.trainer.task_role.role_arn, execution_role.role_arn],
                conditions={"StringEquals": {"iam:PassedToService": "ecs-tasks.amazonaws.com"}},
            ),
            # Step Functions hears that a task ended through a rule of this name, which it manages itself.
            iam.PolicyStatement(
                actions=["events:PutTargets", "events:PutRule", "events:DescribeRule"],
                resources=[
                    Stack.of(self).format_arn(
                        service="events", resource="rule", resource_name="StepFunctionsGetEventsForECSTaskRule"
                    )
                ],
            ),
        ]

    def _on_tasks(self, action: str) -> iam.PolicyStatement:
        return iam.PolicyStatement(
            actions=[action], resources=[self._any_task_arn], conditions={"ArnEquals": self._in_this_cluster()}
        )

    def _in_this_cluster(self) -> dict[str, str]:
        return {"ecs:cluster": self.cluster.cluster_arn}

    # ---- how it is made

    def _make_instance_role(self) -> iam.Role:
        role = iam.Role(
            self,
            "InstanceRole",
            assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"),
            description="Belay GPU instances: the ECS agent, nothing else",
        )
        # CDK lets the agent write into any log group of the account; what it has to say goes into one.
        role.add_to_policy(
            iam.PolicyStatement(
                effect=iam.Effect.DENY,
                actions=["logs:CreateLogStream", "logs:PutLogEvents"],
                not_resources=[self.log_group.log_group_arn],
            )
        )
        # A person may tag a task to have it ended at once; the agent tells the task (docs/decisions/0019).
        role.add_to_policy(iam.PolicyStatement(actions=["ecs:ListTagsForResource"], resources=[self._any_task_arn]))
        return role

    def _provider(self, market: str, *, spot: bool) -> str:
        template = ec2.LaunchTemplate(
            self,
            f"{market}Template",
            instance_type=ec2.InstanceType(self._settings.instance_type),
            machine_image=ecs.EcsOptimizedImage.amazon_linux2023(ecs.AmiHardwareType.GPU),
            role=self._instance_role,
            security_group=self._network.instance_group,
            user_data=_user_data(),
            # With a hop limit of one, no container reaches the instance's credentials.
            require_imdsv2=True,
            http_put_response_hop_limit=1,
            spot_options=ec2.LaunchTemplateSpotOptions() if spot else None,
            associate_public_ip_address=True if self._settings.network == "public" else None,
            block_devices=[
                ec2.BlockDevice(
                    device_name="/dev/xvda",
                    volume=ec2.BlockDeviceVolume.ebs(
                        self._settings.root_volume_gib, encrypted=True, volume_type=ec2.EbsDeviceVolumeType.GP3
                    ),
                )
            ],
        )
        group = autoscaling.AutoScalingGroup(
            self,
            f"{market}Group",
            vpc=self._network.vpc,
            vpc_subnets=ec2.SubnetSelection(subnets=[self._network.subnet]),
            launch_template=template,
            min_capacity=0,
            max_capacity=self._settings.max_instances,
            new_instances_protected_from_scale_in=True,
        )
        provider = ecs.AsgCapacityProvider(
            self,
            f"{market}Provider",
            auto_scaling_group=group,
            # An instance is only taken away when no task is on it.
            enable_managed_termination_protection=True,
            enable_managed_draining=True,
            target_capacity_percent=100,
        )
        self.cluster.add_asg_capacity_provider(provider)
        return provider.capacity_provider_name

    def _task_definition(self) -> ecs.Ec2TaskDefinition:
        definition = ecs.Ec2TaskDefinition(self, "Trainer", family=self.family, network_mode=ecs.NetworkMode.BRIDGE)
        # A revision costs nothing, and none can be run that was deregistered: runs under way may still need it.
        resource = definition.node.default_child
        assert isinstance(resource, ecs.CfnTaskDefinition)
        resource.cfn_options.update_replace_policy = CfnDeletionPolicy.RETAIN
        resource.cfn_options.deletion_policy = CfnDeletionPolicy.DELETE
        linux = ecs.LinuxParameters(self, "Linux", init_process_enabled=True, shared_memory_size=4096)
        # For the mount alone: the entry point gives it up for good before any of the user's code runs.
        linux.add_capabilities(ecs.Capability.SYS_ADMIN)
        definition.add_container(
            self.container_name,
            image=ecs.ContainerImage.from_asset(
                str(_REPOSITORY), file="containers/trainer/Dockerfile", platform=ecr_assets.Platform.LINUX_AMD64
            ),
            # A floor; each job overrides it with what it asks for.
            memory_limit_mib=2048,
            linux_parameters=linux,
            stop_timeout=STOP_TIMEOUT,
            logging=ecs.LogDrivers.aws_logs(
                stream_prefix="run",
                log_group=self.log_group,
                # Training must not stall because a log line cannot leave. What the buffer cannot hold is lost, and the
                # pump goes by these lines. Docker's own 1 MiB is what a chatty library prints in a moment.
                mode=ecs.AwsLogDriverMode.NON_BLOCKING,
                max_buffer_size=Size.mebibytes(25),
            ),
        )
        return definition


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
        f"echo ECS_CONTAINER_STOP_TIMEOUT={STOP_TIMEOUT.to_seconds()}s >> /etc/ecs/ecs.config",
        "echo ECS_IMAGE_PULL_BEHAVIOR=prefer-cached >> /etc/ecs/ecs.config",
    )
    return commands
