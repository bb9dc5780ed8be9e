"""Who may touch which file system: statements that hold a role to the file systems of this deployment, by tag."""

from collections.abc import Mapping

from aws_cdk import Stack
from aws_cdk import aws_iam as iam

from belay.contract import tags

_FSX = "fsx.amazonaws.com"
_FSX_TO_S3 = "s3.data-source.lustre.fsx.amazonaws.com"


class Ownership:
    """The statements for one deployment; each allows one action, and the condition keeps it at home."""

    def __init__(self, stack: Stack, deployment: str) -> None:
        self._stack = stack
        self._deployment = deployment
        self._file_systems = self._fsx("file-system")
        self._ours_and_empty = {tags.DEPLOYMENT: deployment, tags.STATE: tags.State.EMPTY}

    def may_create(self) -> list[iam.PolicyStatement]:
        """Create a file system, if the same call tags it as ours and as empty.

        Tags at creation need fsx:TagResource, and FSx has no condition key that tells it from tagging later. But what
        is there has tags: one that is another deployment's, or that may hold work, cannot be tagged as ours and empty.
        """
        created_as = {"StringEquals": _of("aws:RequestTag", self._ours_and_empty)}
        # Only if they exist: a new one has no tags yet, or those of this very request.
        nothing_else_before = {"StringEqualsIfExists": _of("aws:ResourceTag", self._ours_and_empty)}
        return [
            self._allow("fsx:CreateFileSystem", self._file_systems, conditions=created_as),
            self._allow("fsx:TagResource", self._file_systems, conditions={**created_as, **nothing_else_before}),
            self._service_linked_role(_FSX, "iam:CreateServiceLinkedRole"),
        ]

    def may_link(self) -> list[iam.PolicyStatement]:
        """Associate S3 prefixes with our file systems as long as they are empty: never with one that a job works on.
        FSx then makes itself a role for just those buckets."""
        action = "fsx:CreateDataRepositoryAssociation"
        conditions = {"StringEquals": _of("aws:ResourceTag", self._ours_and_empty)}
        links = self._fsx("association")
        as_ours = {"StringEquals": _of("aws:RequestTag", {tags.DEPLOYMENT: self._deployment})}
        not_anothers = {"StringEqualsIfExists": _of("aws:ResourceTag", {tags.DEPLOYMENT: self._deployment})}
        nothing_else = {"ForAllValues:StringEquals": {"aws:TagKeys": [tags.DEPLOYMENT]}}
        return [
            self._allow(action, self._file_systems, conditions=conditions),
            self._allow(action, links, conditions=as_ours),
            self._allow("fsx:TagResource", links, conditions={**as_ours, **not_anothers, **nothing_else}),
            self._service_linked_role(
                _FSX_TO_S3, "iam:CreateServiceLinkedRole", "iam:AttachRolePolicy", "iam:PutRolePolicy"
            ),
        ]

    def may_unlink(self) -> list[iam.PolicyStatement]:
        """Remove a link of ours, to make it once more. What is on the file system and in S3 stays."""
        return [self._allow("fsx:DeleteDataRepositoryAssociation", self._fsx("association"), conditions=self._ours())]

    def may_mark(self) -> list[iam.PolicyStatement]:
        """Say of our file systems that they may hold work. What makes one ours stays as it is, and none is ever
        called empty again: an empty one may be deleted without an export."""
        states = {f"aws:RequestTag/{tags.STATE}": [tags.State.IN_USE, tags.State.KEPT]}
        keys = {"aws:TagKeys": [tags.STATE, tags.KEPT_WHY, tags.KEPT_SINCE, tags.KEPT_USD_A_DAY]}
        conditions = {"StringEquals": {**self._ours()["StringEquals"], **states}, "ForAllValues:StringEquals": keys}
        return [self._allow("fsx:TagResource", self._file_systems, conditions=conditions)]

    def may_export(self) -> list[iam.PolicyStatement]:
        action = "fsx:CreateDataRepositoryTask"
        return [
            self._allow(action, self._file_systems, conditions=self._ours()),
            self._allow(action, self._fsx("task")),
        ]

    def may_delete(self) -> list[iam.PolicyStatement]:
        return [self._allow("fsx:DeleteFileSystem", self._file_systems, conditions=self._ours())]

    def _ours(self) -> dict[str, dict[str, object]]:
        return {"StringEquals": {f"aws:ResourceTag/{tags.DEPLOYMENT}": self._deployment}}

    def _fsx(self, kind: str) -> str:
        return self._stack.format_arn(service="fsx", resource=kind, resource_name="*")

    def _service_linked_role(self, service: str, *actions: str) -> iam.PolicyStatement:
        role = f"arn:{self._stack.partition}:iam::{self._stack.account}:role/aws-service-role/{service}/*"
        return iam.PolicyStatement(actions=list(actions), resources=[role])

    @staticmethod
    def _allow(action: str, resource: str, conditions: Mapping[str, object] | None = None) -> iam.PolicyStatement:
        return iam.PolicyStatement(actions=[action], resources=[resource], conditions=conditions)


def _of(key: str, values: Mapping[str, str]) -> dict[str, str]:
    return {f"{key}/{tag}": str(value) for tag, value in values.items()}
