"""What would make a first run fail, found before it costs anything."""

from collections.abc import Callable, Iterator
from functools import cache

from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

from belay.aws import deployment
from belay.aws.deployment import Clients, NotDeployed, OtherVersion
from belay.cli import output, quotas
from belay.cli.connection import clients
from belay.cli.findings import Finding
from belay.cli.outcome import Exit
from belay.contract.deployment import Deployment

_MARKS = {"ok": "[green]✓[/]", "wrong": "[red]✗[/]", "unknown": "[yellow]?[/]"}


def doctor(*, deployment_name: str, as_json: bool) -> Exit:
    made = clients()
    deployed = cache(lambda: deployment.find(made, deployment_name))
    checks: list[tuple[str, Callable[[], Finding]]] = [
        ("CDK bootstrap", lambda: _bootstrap(made)),
        ("deployment", lambda: _deployment(deployed())),
        ("prices", lambda: _prices(deployed())),
        ("notices", lambda: _notices(made, deployed())),
        ("role of FSx", lambda: _role(made, "FSx", "AWSServiceRoleForAmazonFSx", made_by="the first run")),
        ("role of ECS", lambda: _role(made, "ECS", "AWSServiceRoleForECS", made_by="the first cluster of an account")),
        ("FSx quotas", lambda: quotas.fsx(made)),
        ("vCPUs on demand", lambda: quotas.vcpus(made, instance_type=deployed().instance_type, spot=False)),
        ("vCPUs Spot", lambda: quotas.vcpus(made, instance_type=deployed().instance_type, spot=True)),
        ("zone", lambda: _zone(made, deployed())),
    ]
    found = []
    for one in _findings(made, checks):
        found.append(one)
        if not as_json:
            _show(one)
    if as_json:
        output.print_json([vars(one) for one in found])
    return Exit.FINDINGS if any(one.state == "wrong" for one in found) else Exit.OK


def _findings(made: Clients, checks: list[tuple[str, Callable[[], Finding]]]) -> Iterator[Finding]:
    """Without credentials every other check would fail for the same reason."""
    credentials = _credentials(made)
    yield credentials
    if credentials.state == "ok":
        yield from (_checked(what, check) for what, check in checks)


def _show(one: Finding) -> None:
    out = output.console()
    out.print(f"{_MARKS[one.state]} {one.what}: ", end="")
    out.print(one.text, markup=False, soft_wrap=True)


def _checked(what: str, check: Callable[[], Finding]) -> Finding:
    """A call that is not allowed, or that a local cloud does not have, proves nothing: unknown."""
    try:
        return check()
    except (NotDeployed, OtherVersion) as error:
        return Finding(what, "wrong", str(error))
    except (ClientError, BotoCoreError) as error:
        return Finding(what, "unknown", f"could not be asked: {error}")


def _credentials(made: Clients) -> Finding:
    """GetCallerIdentity needs no permission: an error means that the credentials are wrong."""
    try:
        caller = made("sts").get_caller_identity()
    except NoCredentialsError:
        return Finding("credentials", "wrong", "none; set AWS_PROFILE, or run 'aws configure'")
    except (ClientError, BotoCoreError) as error:
        return Finding("credentials", "wrong", f"{str(error).rstrip('.')}; without them the rest cannot be asked")
    region = made("sts").meta.region_name
    return Finding("credentials", "ok", f"{caller['Arn']}, Region {region}")


def _bootstrap(made: Clients) -> Finding:
    try:
        found = made("ssm").get_parameter(Name="/cdk-bootstrap/hnb659fds/version")
    except ClientError as error:
        if error.response["Error"]["Code"] != "ParameterNotFound":
            raise
        return Finding("CDK bootstrap", "wrong", "not there; run 'npx cdk bootstrap' once for this account and Region")
    return Finding("CDK bootstrap", "ok", f"version {found['Parameter']['Value']}")


def _deployment(deployed: Deployment) -> Finding:
    text = f"{deployed.name}: Belay {deployed.belay_version}, bucket {deployed.bucket}, {deployed.dashboard_url}"
    return Finding("deployment", "ok", text)


def _prices(deployed: Deployment) -> Finding:
    price = deployed.prices.instance_hour
    if price is None:
        return Finding("prices", "wrong", "unknown, so budgets are refused; set 'prices' in cdk.json and deploy")
    return Finding("prices", "ok", f"{price} USD an instance hour, as cdk.json says")


def _notices(made: Clients, deployed: Deployment) -> Finding:
    """AWS mails nothing to an address before its owner has confirmed the subscription."""
    pages = made("sns").get_paginator("list_subscriptions_by_topic").paginate(TopicArn=deployed.notices_topic_arn)
    subscribed = [one for page in pages for one in page["Subscriptions"]]
    waiting = [one["Endpoint"] for one in subscribed if one["SubscriptionArn"] == "PendingConfirmation"]
    if waiting:
        fix = "open the link in the mail from AWS Notifications"
        return Finding("notices", "wrong", f"{', '.join(waiting)} has not confirmed yet; {fix}")
    if not subscribed:
        return Finding("notices", "unknown", "go to nobody; set 'notice_email' in cdk.json and deploy")
    return Finding("notices", "ok", f"go to {', '.join(one['Endpoint'] for one in subscribed)}")


def _role(made: Clients, service: str, role: str, *, made_by: str) -> Finding:
    what = f"role of {service}"
    try:
        made("iam").get_role(RoleName=role)
    except ClientError as error:
        if error.response["Error"]["Code"] != "NoSuchEntity":
            raise
        fix = f"aws iam create-service-linked-role --aws-service-name {service.lower()}.amazonaws.com"
        return Finding(what, "unknown", f"not there yet; {made_by} makes it, or: {fix}")
    return Finding(what, "ok", role)


def _zone(made: Clients, deployed: Deployment) -> Finding:
    """File system and instance must share a zone: does it have the instance type?"""
    kind, zone = deployed.instance_type, deployed.availability_zone
    offered = made("ec2").describe_instance_type_offerings(
        LocationType="availability-zone",
        Filters=[{"Name": "instance-type", "Values": [kind]}, {"Name": "location", "Values": [zone]}],
    )["InstanceTypeOfferings"]
    if not offered:
        return Finding("zone", "wrong", f"{zone} has no {kind}; set another zone or type in cdk.json")
    return Finding("zone", "ok", f"{zone} has {kind}")
