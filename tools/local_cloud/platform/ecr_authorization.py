"""The IAM checks of ECR: all but the authorization token are for one repository."""

from __future__ import annotations

from tools.local_cloud.platform.authorization import Check, Request
from tools.local_cloud.settings import ACCOUNT, REGION


def ecr_checks(action: str, request: Request) -> list[Check]:
    """The repositories that the request names."""
    names = [request["repositoryName"]] if "repositoryName" in request else request.get("repositoryNames")
    if not names:
        return [Check(f"ecr:{action}", "*")]
    return [Check(f"ecr:{action}", f"arn:aws:ecr:{REGION}:{ACCOUNT}:repository/{name}") for name in names]
