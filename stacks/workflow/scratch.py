"""What happens to a file system, as states: created, linked to S3, marked, exported, deleted."""

from typing import Any

from aws_cdk import aws_kms as kms
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct

from contract.paths import EXPORTED_CHECKPOINTS, EXPORTED_EVENTS
from contract.tags import State
from stacks.encryption import may_encrypt_file_systems
from stacks.functions import Functions
from stacks.network import Network
from stacks.workflow.calls import Ask, AwsCall
from stacks.workflow.ownership import Ownership

# The same for a repeated call, another for another export: FSx answers a known token with the task that it had.
_EACH_TIME_ANOTHER = "$substring($hash($states.context.Execution.Id & $string($proofs), 'SHA-256'), 0, 32)"


def create_scratch(scope: Construct, *, network: Network, ownership: Ownership, key: kms.IKey | None) -> AwsCall:
    arguments = {
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
    }
    return AwsCall(
        scope,
        "Create scratch file system",
        service="fsx",
        action="createFileSystem",
        arguments=arguments if key is None else _with_key(arguments, key),
        assign={"file_system_id": "{% $states.result.FileSystem.FileSystemId %}"},
        allowed_by=[*ownership.may_create(), *network.may_be_used(), *may_encrypt_file_systems(key)],
    )


def _with_key(arguments: dict[str, Any], key: kms.IKey) -> str:
    """A key can be named for a persistent file system only; a field that is sometimes there takes one expression."""
    persistent = "$request.scratch.LustreConfiguration.DeploymentType = 'PERSISTENT_2'"
    parts = ", ".join(f"{name!r}: {_in_jsonata(value)}" for name, value in arguments.items())
    return f"{{% $merge([{{{parts}}}, {persistent} ? {{'KmsKeyId': '{key.key_arn}'}} : {{}}]) %}}"


def _in_jsonata(value: str | list[str]) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_in_jsonata, value))}]"
    return value[2:-2].strip() if value.startswith("{%") else f"'{value}'"


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


def mark_in_use(scope: Construct, *, functions: Functions) -> Ask:
    """From here on the file system may hold work. As long as it is not marked, it is proven empty."""
    question = {"file_system_id": "{% $file_system_id %}", "state": State.IN_USE}
    return Ask(scope, "Mark as in use", function=functions.mark, question=question)


def mark_kept(scope: Construct, *, functions: Functions) -> Ask:
    question = {
        "file_system_id": "{% $found.file_system.id %}",
        "state": State.KEPT,
        "why": "{% $trouble %}",
        "since": "{% $found.file_system.kept_since %}",
        "usd_a_day": "{% $found.file_system.usd_a_day %}",
    }
    return Ask(scope, "Keep file system", function=functions.mark, question=question, answers=["FileSystemGone"])


def export_to_s3(scope: Construct, *, ownership: Ownership) -> AwsCall:
    """What is finished, and what was said; never the folder where saves are still being written."""
    return AwsCall(
        scope,
        "Export to S3",
        service="fsx",
        action="createDataRepositoryTask",
        arguments={
            "FileSystemId": "{% $found.file_system.id %}",
            "Type": "EXPORT_TO_REPOSITORY",
            "Paths": [EXPORTED_CHECKPOINTS, EXPORTED_EVENTS],
            "Report": {"Enabled": False},
            "ClientRequestToken": f"{{% {_EACH_TIME_ANOTHER} %}}",
        },
        assign={"task_id": "{% $states.result.DataRepositoryTask.TaskId %}"},
        allowed_by=ownership.may_export(),
        # One task at a time: the pump's last one may still be under way.
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
