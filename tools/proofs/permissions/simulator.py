"""A maintained simulator of IAM, run once for many questions: starting it takes half a second."""

import copy
import json
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tools.definitions.resolve import ACCOUNT
from tools.definitions.templates import Assembly
from tools.repository import REPOSITORY

_PROGRAM = Path(__file__).with_suffix(".mjs")
ALLOWED = "Allowed"


@dataclass(frozen=True)
class Question:
    """May this role do this to that, with these conditions in the request?"""

    role: str
    action: str
    resource: str
    context: dict[str, Any] = field(default_factory=dict, hash=False)
    account: str = ACCOUNT


@dataclass(frozen=True)
class Policies:
    """Policies of roles, and policies at resources."""

    of_roles: dict[str, list[dict[str, Any]]]
    of_resources: list[dict[str, Any]]


def policies_of(assembly: Assembly) -> Policies:
    """Copies: a test may change them."""
    held: dict[str, list[dict[str, Any]]] = {role.path: [] for role in assembly.of_type("AWS::IAM::Role")}
    named = {path.replace("/", "-"): path for path in held}
    for role in assembly.of_type("AWS::IAM::Role"):
        held[role.path] += [policy["PolicyDocument"] for policy in role.properties.get("Policies", [])]
    for policy in assembly.of_type("AWS::IAM::Policy"):
        for name in policy.properties["Roles"]:
            held[named[name]].append(policy.properties["PolicyDocument"])
    said = [
        {"arn": f"arn:aws:s3:::{policy.properties['Bucket']}", "policy": policy.properties["PolicyDocument"]}
        for policy in assembly.of_type("AWS::S3::BucketPolicy")
    ]
    return copy.deepcopy(Policies(held, said))


def ask(policies: Policies, questions: Sequence[Question]) -> list[str]:
    """The simulator's verdict for each: Allowed, ImplicitlyDenied, ExplicitlyDenied, or an error."""
    verdicts: list[str] = _run(policies, questions, [])["verdicts"]
    return verdicts


def catalogue(services: Sequence[str]) -> dict[str, list[dict[str, str]]]:
    """Every action of these services, with the types of resources that it can be about."""
    actions: dict[str, list[dict[str, str]]] = _run(Policies({}, []), [], services)["actions"]
    return actions


def _run(policies: Policies, questions: Sequence[Question], services: Sequence[str]) -> dict[str, Any]:
    asked = {
        "policies": policies.of_roles,
        "resourcePolicies": policies.of_resources,
        "questions": [asdict(question) for question in questions],
        "services": list(services),
    }
    done = subprocess.run(
        ["node", str(_PROGRAM)], input=json.dumps(asked), cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
