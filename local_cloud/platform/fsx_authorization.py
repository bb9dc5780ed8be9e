"""What FSx asks IAM, from the Service Authorization Reference."""

from __future__ import annotations

from local_cloud.platform.authorization import Check, Request, request_tags
from local_cloud.services.fsx.model import ARN

FILE_SYSTEM = f"{ARN}:file-system"


def fsx_checks(action: str, request: Request) -> list[Check]:
    """Every resource that the action names; creating something with tags also needs fsx:TagResource on it."""
    owner = f"{FILE_SYSTEM}/{request.get('FileSystemId', '*')}"
    name = f"fsx:{action}"
    match action:
        case "CreateFileSystem":
            return _creating(name, f"{FILE_SYSTEM}/*", [], request)
        case "CreateDataRepositoryAssociation":
            new = f"{ARN}:association/{request.get('FileSystemId')}/*"
            return _creating(name, new, [Check(name, owner)], request)
        case "CreateDataRepositoryTask":
            return _creating(name, f"{ARN}:task/*", [Check(name, owner)], request)
        case "DeleteFileSystem" | "UpdateFileSystem":
            return [Check(name, owner)]
        case "DeleteDataRepositoryAssociation" | "UpdateDataRepositoryAssociation":
            return [Check(name, f"{ARN}:association/*/{request.get('AssociationId')}")]
        case "CancelDataRepositoryTask":
            return [Check(name, f"{ARN}:task/{request.get('TaskId')}")]
        case "TagResource" | "UntagResource" | "ListTagsForResource":
            return [Check(name, str(request.get("ResourceARN")))]
        case _:
            return [Check(name, "*")]


def _creating(name: str, new: str, others: list[Check], request: Request) -> list[Check]:
    tags = request_tags(request.get("Tags") or [])
    tagging = [Check("fsx:TagResource", new, tags)] if tags else []
    return [Check(name, new, tags), *others, *tagging]
