"""The grants of every role, one line for each action, resource and condition."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tools.definitions.templates import Assembly

# Resources with a policy of their own.
_AT_RESOURCES = {
    "AWS::KMS::Key": "KeyPolicy",
    "AWS::S3::BucketPolicy": "PolicyDocument",
    "AWS::SNS::TopicPolicy": "PolicyDocument",
    "AWS::SQS::QueuePolicy": "PolicyDocument",
    "AWS::EC2::VPCEndpoint": "PolicyDocument",
}
# CDK grants these on * for logs and X-Ray: AWS has no resources for them.
LOG_DELIVERY_AND_X_RAY = frozenset(
    {
        "logs:CreateLogDelivery",
        "logs:DeleteLogDelivery",
        "logs:DescribeLogGroups",
        "logs:DescribeResourcePolicies",
        "logs:GetLogDelivery",
        "logs:ListLogDeliveries",
        "logs:PutResourcePolicy",
        "logs:UpdateLogDelivery",
        "xray:GetSamplingRules",
        "xray:GetSamplingTargets",
        "xray:PutTelemetryRecords",
        "xray:PutTraceSegments",
    }
)


@dataclass(frozen=True, order=True)
class Grant:
    """`holder`: the path of a role, or, for a policy at a resource, that resource and the principal."""

    holder: str
    action: str
    resource: str
    condition: str
    effect: str = "Allow"

    def __str__(self) -> str:
        return f"{self.resource}{f'  if {self.condition}' if self.condition else ''}"


def grants(assembly: Assembly) -> list[Grant]:
    """The grants of roles, by their policies."""
    found: list[Grant] = []
    # A policy names its roles; a role without a name is named by its path.
    named = {role.path.replace("/", "-"): role.path for role in assembly.of_type("AWS::IAM::Role")}
    for role in assembly.of_type("AWS::IAM::Role"):
        for arn in role.properties.get("ManagedPolicyArns", []):
            found.append(Grant(role.path, "(managed policy)", arn, ""))
        for policy in role.properties.get("Policies", []):
            found += _of_document(role.path, policy["PolicyDocument"])
    for policy in assembly.of_type("AWS::IAM::Policy"):
        for name in policy.properties["Roles"]:
            found += _of_document(named[name], policy.properties["PolicyDocument"])
    return sorted(found)


def grants_at_resources(assembly: Assembly) -> list[Grant]:
    """The grants and denials in policies at resources."""
    found: list[Grant] = []
    for type, key in _AT_RESOURCES.items():
        for resource in assembly.of_type(type):
            found += _of_document(resource.path, resource.properties.get(key, {"Statement": []}))
    for permission in assembly.of_type("AWS::Lambda::Permission"):
        of = permission.properties
        holder = f"{permission.path.split('/AllowEventRule')[0]}: {of['Principal']}"
        condition = f"ArnLike aws:SourceArn = {of['SourceArn']}"
        found.append(Grant(holder, of["Action"], of["FunctionName"], condition))
    return sorted(found)


def trusts(assembly: Assembly) -> dict[str, list[str]]:
    """Who may assume which role."""
    answers = {}
    for role in assembly.of_type("AWS::IAM::Role"):
        statements = role.properties["AssumeRolePolicyDocument"]["Statement"]
        answers[role.path] = sorted(
            f"{statement['Effect']} {_principal(statement)}{_if(_condition(statement))}" for statement in statements
        )
    return answers


def written_out(assembly: Assembly) -> str:
    """All of them as text, for a reviewer."""
    lines = []
    held: dict[str, list[Grant]] = defaultdict(list)
    for grant in grants(assembly):
        held[grant.holder].append(grant)
    for role, trusted in sorted(trusts(assembly).items()):
        lines += [role, *(f"    taken on by: {who}" for who in trusted), *_by_action(held[role]), ""]
    lines += ["=== what resources say themselves ===", ""]
    said: dict[str, list[Grant]] = defaultdict(list)
    for grant in grants_at_resources(assembly):
        said[grant.holder].append(grant)
    for holder, its in said.items():
        lines += [holder, *_by_action(its), ""]
    return "\n".join(lines)


def _by_action(of_one: list[Grant]) -> Iterator[str]:
    if not of_one:
        yield "    nothing"
    said = ""
    for grant in of_one:
        action = f"    {grant.action}" if grant.effect == "Allow" else f"    {grant.effect} {grant.action}"
        if action != said:
            yield action
        said = action
        yield f"        {grant}"


def _of_document(holder: str, document: dict[str, Any]) -> Iterator[Grant]:
    for statement in document["Statement"]:
        unread = set(statement) - {"Action", "Resource", "NotResource", "Effect", "Condition", "Principal", "Sid"}
        assert not unread, f"{holder}: {unread} are not read here"
        who = f"{holder}: {_principal(statement)}" if "Principal" in statement else holder
        for action in _listed(statement["Action"]):
            for resource in _resources(statement):
                yield Grant(who, action, resource, _condition(statement), statement["Effect"])


def _resources(statement: dict[str, Any]) -> list[str]:
    spared = [f"everything but {resource}" for resource in _listed(statement.get("NotResource", []))]
    return [*_listed(statement.get("Resource", [])), *spared]


def _condition(statement: dict[str, Any]) -> str:
    conditions = statement.get("Condition", {})
    return " and ".join(
        f"{operator} {key} = {', '.join(map(str, _listed(values)))}"
        for operator in sorted(conditions)
        for key, values in sorted(conditions[operator].items())
    )


def _if(condition: str) -> str:
    return f"  if {condition}" if condition else ""


def _principal(statement: dict[str, Any]) -> str:
    principal = statement["Principal"]
    if isinstance(principal, str):
        return principal
    return ", ".join(str(who) for kind in sorted(principal) for who in _listed(principal[kind]))


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
