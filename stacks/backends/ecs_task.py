"""The task that trains: one definition for all jobs."""

from aws_cdk import CfnDeletionPolicy, Size
from aws_cdk import aws_ecr_assets as ecr_assets
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_logs as logs
from constructs import Construct

from belay.contract.task import CONTAINER, HOST_FACTS
from stacks.backends.base import IMAGE_CONTEXT, IMAGE_FILE, STOP_TIMEOUT


def trainer_task(scope: Construct, *, family: str, log_group: logs.ILogGroup) -> ecs.Ec2TaskDefinition:
    definition = ecs.Ec2TaskDefinition(scope, "Trainer", family=family, network_mode=ecs.NetworkMode.BRIDGE)
    # A revision costs nothing, and none can be run that was deregistered: runs under way may still need it.
    resource = definition.node.default_child
    assert isinstance(resource, ecs.CfnTaskDefinition)
    resource.cfn_options.update_replace_policy = CfnDeletionPolicy.RETAIN
    resource.cfn_options.deletion_policy = CfnDeletionPolicy.DELETE
    linux = ecs.LinuxParameters(scope, "Linux", init_process_enabled=True, shared_memory_size=4096)
    # For the mount alone: the entry point gives it up for good before any of the user's code runs.
    linux.add_capabilities(ecs.Capability.SYS_ADMIN)
    definition.add_volume(name="host", host=ecs.Host(source_path=HOST_FACTS))
    container = definition.add_container(
        CONTAINER,
        image=ecs.ContainerImage.from_asset(IMAGE_CONTEXT, file=IMAGE_FILE, platform=ecr_assets.Platform.LINUX_AMD64),
        # A floor; each job overrides it with what it asks for.
        memory_limit_mib=2048,
        linux_parameters=linux,
        stop_timeout=STOP_TIMEOUT,
        logging=ecs.LogDrivers.aws_logs(
            stream_prefix="run",
            log_group=log_group,
            # Training must not stall because a log line cannot leave. What the buffer cannot hold is lost, and the
            # pump goes by these lines. Docker's own 1 MiB is what a chatty library prints in a moment.
            mode=ecs.AwsLogDriverMode.NON_BLOCKING,
            max_buffer_size=Size.mebibytes(25),
        ),
    )
    facts = ecs.MountPoint(source_volume="host", container_path=HOST_FACTS, read_only=True)
    container.add_mount_points(facts)
    return definition
