"""The IAM checks of FSx operations, from the Service Authorization Reference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from tools.local_cloud.platform.authorization import Check, Request, request_tags
from tools.local_cloud.platform.service_linked_roles import FSX
from tools.local_cloud.services.fsx.model import ARN

FILE_SYSTEM = f"{ARN}:file-system"


class Roles(Protocol):
    """What a call about a service-linked role needs."""

    def check(self, service: str) -> list[Check]: ...

    def check_s3_access(self) -> list[Check]: ...


def fsx_checks(arn_of_link: Callable[[str], str], roles: Roles) -> Callable[[str, Request], list[Check]]:
    """Every resource that the action names; creating something with tags also needs fsx:TagResource on it.

    A request names an association without its file system, which is a part of its ARN.
    """
    return lambda action, request: _checks(action, request, arn_of_link, roles)


def _checks(action: str, request: Request, arn_of_link: Callable[[str], str], roles: Roles) -> list[Check]:
    owner = f"{FILE_SYSTEM}/{request.get('FileSystemId', '*')}"
    name = f"fsx:{action}"
    match action:
        case "CreateFileSystem":
            return [*_creating(name, f"{FILE_SYSTEM}/*", [], request), *roles.check(FSX)]
        case "CreateDataRepositoryAssociation":
            new = f"{ARN}:association/{request.get('FileSystemId')}/*"
            return [*_creating(name, new, [Check(name, owner)], request), *_on_s3(request), *roles.check_s3_access()]
        case "CreateDataRepositoryTask":
            return _creating(name, f"{ARN}:task/*", [Check(name, owner)], request)
        case "DeleteFileSystem" | "UpdateFileSystem":
            return [Check(name, owner)]
        case "DeleteDataRepositoryAssociation" | "UpdateDataRepositoryAssociation":
            return [Check(name, arn_of_link(str(request.get("AssociationId"))))]
        case "CancelDataRepositoryTask":
            return [Check(name, f"{ARN}:task/{request.get('TaskId')}")]
        case "TagResource" | "UntagResource" | "ListTagsForResource":
            return [Check(name, str(request.get("ResourceARN")))]
        case _:
            return [Check(name, "*")]


def _on_s3(request: Request) -> list[Check]:
    """FSx looks with the caller's own rights whether the bucket can be reached: "s3:Get*, s3:List* and s3:PutObject"
    (FSx for Lustre guide, S3 bucket validation errors; github.com/aws/aws-parallelcluster/pull/4199). One of each is
    asked here. AWS ends the call, or the link, with a reason of its own; here IAM's refusal is the answer."""
    bucket, _, prefix = str(request.get("DataRepositoryPath", "")).removeprefix("s3://").partition("/")
    arn = f"arn:aws:s3:::{bucket}"
    return [
        Check("s3:ListBucket", arn),
        Check("s3:GetBucketAcl", arn),
        Check("s3:GetObject", f"{arn}/{prefix}*"),
        Check("s3:PutObject", f"{arn}/{prefix}*"),
    ]


def _creating(name: str, new: str, others: list[Check], request: Request) -> list[Check]:
    tags = request_tags(request.get("Tags") or [])
    tagging = [Check("fsx:TagResource", new, tags)] if tags else []
    return [Check(name, new, tags), *others, *tagging]
