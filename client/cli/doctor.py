"""What would make a first run fail, found before it costs anything."""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

from client import deployment
from client.cli import quotas, voice
from client.cli.cloud import clients
from client.cli.findings import Finding
from client.cli.outcome import Exit
from client.deployment import Clients, NotDeployed

_MARKS = {"ok": "[green]✓[/]", "wrong": "[red]✗[/]", "unknown": "[yellow]?[/]"}


def doctor(*, deployment_name: str, as_json: bool) -> Exit:
    made = clients()
    instances = cache(lambda: _instances(made, deployment_name))
    checks: list[tuple[str, Callable[[], Finding]]] = [
        ("CDK bootstrap", lambda: _bootstrap(made)),
        ("deployment", lambda: _deployment(made, deployment_name)),
        ("prices", lambda: _prices(made, deployment_name)),
        ("notices", lambda: _notices(made, deployment_name)),
        ("role of FSx", lambda: _role(made, "FSx", "AWSServiceRoleForAmazonFSx", made_by="the first run")),
        ("role of ECS", lambda: _role(made, "ECS", "AWSServiceRoleForECS", made_by="the first cluster of an account")),
        ("FSx quotas", lambda: quotas.fsx(made)),
        ("GPU vCPUs on demand", lambda: quotas.gpu(made, "on demand", instance_type=instances()[0])),
        ("GPU vCPUs Spot", lambda: quotas.gpu(made, "Spot", instance_type=instances()[0])),
        ("zone", lambda: _zone(made, *instances())),
    ]
    found = []
    for one in _findings(made, checks):
        found.append(one)
        if not as_json:
            _show(one)
    if as_json:
        voice.answer([vars(one) for one in found])
    return Exit.FINDINGS if any(one.state == "wrong" for one in found) else Exit.OK


def _findings(made: Clients, checks: list[tuple[str, Callable[[], Finding]]]) -> Iterator[Finding]:
    """Without credentials every other question would have the same answer."""
    credentials = _credentials(made)
    yield credentials
    if credentials.state == "ok":
        yield from (_asked(what, check) for what, check in checks)


def _show(one: Finding) -> None:
    out = voice.console()
    out.print(f"{_MARKS[one.state]} {one.what}: ", end="")
    out.print(one.text, markup=False, soft_wrap=True)


def _asked(what: str, check: Callable[[], Finding]) -> Finding:
    """A question that may not be asked, or that this cloud does not know, is no answer."""
    try:
        return check()
    except NotDeployed as error:
        return Finding(what, "wrong", str(error))
    except (ClientError, BotoCoreError) as error:
        return Finding(what, "unknown", f"could not be asked: {error}")


def _credentials(made: Clients) -> Finding:
    """Whoever is somebody may ask who they are: no answer is never a matter of permissions."""
    try:
        told = made("sts").get_caller_identity()
    except NoCredentialsError:
        return Finding("credentials", "wrong", "none; set AWS_PROFILE, or run 'aws configure'")
    except (ClientError, BotoCoreError) as error:
        return Finding("credentials", "wrong", f"{str(error).rstrip('.')}; without them the rest cannot be asked")
    region = made("sts").meta.region_name
    return Finding("credentials", "ok", f"{told['Arn']}, Region {region}")


def _bootstrap(made: Clients) -> Finding:
    try:
        told = made("ssm").get_parameter(Name="/cdk-bootstrap/hnb659fds/version")
    except ClientError as error:
        if error.response["Error"]["Code"] != "ParameterNotFound":
            raise
        return Finding("CDK bootstrap", "wrong", "not there; run 'npx cdk bootstrap' once for this account and Region")
    return Finding("CDK bootstrap", "ok", f"version {told['Parameter']['Value']}")


def _deployment(made: Clients, name: str) -> Finding:
    found = deployment.find(made, name)
    return Finding("deployment", "ok", f"{name}: bucket {found.bucket}")


def _prices(made: Clients, name: str) -> Finding:
    prices = deployment.prices(made, deployment.find(made, name))
    if prices.instance_hour is None:
        return Finding("prices", "wrong", "unknown, so budgets are refused; set 'prices' in cdk.json and deploy")
    return Finding("prices", "ok", f"{prices.instance_hour} USD an instance hour, as cdk.json says")


def _notices(made: Clients, name: str) -> Finding:
    """AWS mails nothing to an address before its owner has said yes to that."""
    topic = deployment.notices_topic(made, deployment.find(made, name))
    pages = made("sns").get_paginator("list_subscriptions_by_topic").paginate(TopicArn=topic)
    told = [one for page in pages for one in page["Subscriptions"]]
    waiting = [one["Endpoint"] for one in told if one["SubscriptionArn"] == "PendingConfirmation"]
    if waiting:
        mend = "open the link in the mail from AWS Notifications"
        return Finding("notices", "wrong", f"{', '.join(waiting)} has not confirmed yet; {mend}")
    if not told:
        return Finding("notices", "unknown", "go to nobody; set 'notice_email' in cdk.json and deploy")
    return Finding("notices", "ok", f"go to {', '.join(one['Endpoint'] for one in told)}")


def _role(made: Clients, service: str, role: str, *, made_by: str) -> Finding:
    what = f"role of {service}"
    try:
        made("iam").get_role(RoleName=role)
    except ClientError as error:
        if error.response["Error"]["Code"] != "NoSuchEntity":
            raise
        mend = f"aws iam create-service-linked-role --aws-service-name {service.lower()}.amazonaws.com"
        return Finding(what, "unknown", f"not there yet; {made_by} makes it, or: {mend}")
    return Finding(what, "ok", role)


def _zone(made: Clients, kind: str, zones: list[str]) -> Finding:
    """File system and instance must share a zone: does it have the instance type?"""
    offered = made("ec2").describe_instance_type_offerings(
        LocationType="availability-zone",
        Filters=[{"Name": "instance-type", "Values": [kind]}, {"Name": "location", "Values": zones}],
    )["InstanceTypeOfferings"]
    missing = [zone for zone in zones if zone not in {one["Location"] for one in offered}]
    if missing:
        return Finding("zone", "wrong", f"{', '.join(missing)} has no {kind}; set another zone or type in cdk.json")
    return Finding("zone", "ok", f"{', '.join(zones)} has {kind}")


def _instances(made: Clients, name: str) -> tuple[str, list[str]]:
    """Of which type they are, and in which zones they start."""
    ecs, scaling = made("ecs"), made("autoscaling")
    cluster = deployment.cluster_of(made, deployment.find(made, name))
    providers = ecs.describe_clusters(clusters=[cluster])["clusters"][0]["capacityProviders"]
    described = ecs.describe_capacity_providers(capacityProviders=providers)["capacityProviders"]
    group_arns = [one["autoScalingGroupProvider"]["autoScalingGroupArn"] for one in described]
    names = [arn.split("autoScalingGroupName/")[-1] for arn in group_arns]
    groups: list[dict[str, Any]] = scaling.describe_auto_scaling_groups(AutoScalingGroupNames=names)[
        "AutoScalingGroups"
    ]
    template = groups[0]["LaunchTemplate"]
    version = made("ec2").describe_launch_template_versions(
        LaunchTemplateId=template["LaunchTemplateId"], Versions=[template["Version"]]
    )["LaunchTemplateVersions"][0]
    zones = sorted({zone for group in groups for zone in group["AvailabilityZones"]})
    return str(version["LaunchTemplateData"]["InstanceType"]), zones
