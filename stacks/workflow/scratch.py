"""What happens to a file system, as states: created, linked to S3, marked, exported, deleted."""

from typing import Any

from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct

from contract import tags
from contract.tags import State
from stacks.network import Network
from stacks.workflow.calls import AwsCall
from stacks.workflow.ownership import Ownership


def create_scratch(scope: Construct, *, network: Network, ownership: Ownership) -> AwsCall:
    return AwsCall(
        scope,
        "Create scratch file system",
        service="fsx",
        action="createFileSystem",
        arguments={
            "FileSystemType": "LUSTRE",
            # The API's own default is 2.10, which cannot be linked by associations.
            "FileSystemTypeVersion": "2.15",
            "StorageCapacity": "{% $request.scratch.StorageCapacity %}",
            "LustreConfiguration": "{% $request.scratch.LustreConfiguration %}",
            "SubnetIds": [network.subnet.subnet_id],
            "SecurityGroupIds": [network.file_system_group.security_group_id],
            "Tags": "{% $request.scratch.Tags %}",
            # The same token for the same execution: a repeated call finds the file system, it does not make another.
            "ClientRequestToken": "{% $request.scratch.ClientRequestToken %}",
        },
        assign={
            "file_system_id": "{% $states.result.FileSystem.FileSystemId %}",
            "file_system_arn": "{% $states.result.FileSystem.ResourceARN %}",
        },
        allowed_by=[*ownership.may_create(), *network.may_be_used()],
    )


def link_to_s3(scope: Construct, *, ownership: Ownership) -> tuple[sfn.Map, AwsCall]:
    """One association each for the run, the data, and the checkpoint to resume from."""
    link = AwsCall(
        scope,
        "Link a folder",
        service="fsx",
        action="createDataRepositoryAssociation",
        arguments={
            "FileSystemId": "{% $file_system_id %}",
            "FileSystemPath": "{% $states.input.FileSystemPath %}",
            "DataRepositoryPath": "{% $states.input.DataRepositoryPath %}",
            # Names and sizes appear on the mount at once; a file's data comes when it is first read.
            # No S3 policies: auto-export would forbid export tasks and mirror every deletion.
            "BatchImportMetaDataOnCreate": "{% $states.input.BatchImportMetaDataOnCreate %}",
            "ClientRequestToken": "{% $states.input.ClientRequestToken %}",
        },
        allowed_by=ownership.may_link(),
    )
    each = sfn.Map.jsonata(
        scope, "Link to S3", items=sfn.ProvideItems.jsonata("{% $request.links %}"), max_concurrency=1, outputs={}
    )
    each.item_processor(link)
    return each, link


def mark_in_use(scope: Construct, *, ownership: Ownership) -> AwsCall:
    """From here on the file system may hold work. As long as it is not marked, it is proven empty."""
    return _tag(scope, "Mark as in use", {tags.STATE: State.IN_USE}, "$file_system_arn", ownership)


def mark_kept(scope: Construct, *, ownership: Ownership) -> AwsCall:
    why = "{% $substring($replace($trouble, /[^\\w .:\\/=+@-]/, ' '), 0, 256) %}"
    since = "{% $states.context.State.EnteredTime %}"
    return _tag(
        scope,
        "Keep file system",
        {tags.STATE: State.KEPT, tags.KEPT_WHY: why, tags.KEPT_SINCE: since},
        "$found.file_system.arn",
        ownership,
    )


def _tag(scope: Construct, id: str, values: dict[str, str], arn: str, ownership: Ownership) -> AwsCall:
    return AwsCall(
        scope,
        id,
        service="fsx",
        action="tagResource",
        arguments={
            "ResourceARN": f"{{% {arn} %}}",
            "Tags": [{"Key": key, "Value": str(value)} for key, value in values.items()],
        },
        allowed_by=ownership.may_tag(*values),
    )


def export_to_s3(scope: Construct, *, ownership: Ownership) -> AwsCall:
    """Everything under the run's folder. One task at a time: the pump's last one may still be under way."""
    return AwsCall(
        scope,
        "Export to S3",
        service="fsx",
        action="createDataRepositoryTask",
        arguments={
            "FileSystemId": "{% $found.file_system.id %}",
            "Type": "EXPORT_TO_REPOSITORY",
            "Paths": ["run"],
            "Report": {"Enabled": False},
            "ClientRequestToken": "{% $substring($states.context.Execution.Name, 0, 50) & '-' & $string($exports) %}",
        },
        assign={
            "exports": "{% $exports + 1 %}",
            "task_id": "{% $states.result.DataRepositoryTask.TaskId %}",
        },
        allowed_by=ownership.may_export(),
        busy="FSx.DataRepositoryTaskExecutingException",
    )


def delete_scratch(scope: Construct, *, ownership: Ownership) -> AwsCall:
    arguments: dict[str, Any] = {
        # No LustreConfiguration: for scratch even an empty one is refused.
        "FileSystemId": "{% $found.file_system.id %}",
        "ClientRequestToken": "{% 'delete-' & $found.file_system.id %}",
    }
    return AwsCall(
        scope,
        "Delete file system",
        service="fsx",
        action="deleteFileSystem",
        arguments=arguments,
        allowed_by=ownership.may_delete(),
        answers=["FSx.FileSystemNotFoundException"],
        # Refused while an export task is under way.
        busy="FSx.BadRequestException",
    )
