"""What ECR asks IAM: everything but the token is about one repository."""

from __future__ import annotations

from local_cloud.platform.authorization import Check, Request
from local_cloud.settings import ACCOUNT, REGION


def ecr_checks(action: str, request: Request) -> list[Check]:
    """The repositories that the request names."""
    names = [request["repositoryName"]] if "repositoryName" in request else request.get("repositoryNames")
    if not names:
        return [Check(f"ecr:{action}", "*")]
    return [Check(f"ecr:{action}", f"arn:aws:ecr:{REGION}:{ACCOUNT}:repository/{name}") for name in names]
