"""What happens to a file system, as states: created, marked, exported, deleted. Its links stand in links.py."""

from aws_cdk import aws_kms as kms
from constructs import Construct

from belay.contract.errors import FileSystemGone
from belay.contract.paths import EXPORTED_CHECKPOINTS, EXPORTED_EVENTS
from belay.contract.states import TeardownState, TrainState
from belay.contract.tags import State
from stacks.encryption import may_encrypt_file_systems
from stacks.flows.aws_errors import FSX_BAD_REQUEST, FSX_FILE_SYSTEM_GONE, FSX_TASK_EXECUTING
from stacks.flows.calls import Ask, AwsCall
from stacks.flows.jsonata import ENTERED, Expression
from stacks.flows.variables import OfTeardown, OfTrain
from stacks.functions.functions import Functions
from stacks.network import Network
from stacks.ownership import Ownership

# FSx answers a known token with the file system that it had, or with an error.
START_SUFFIX = f"({OfTrain.start_polls} = 0 ? '' : '-' & $string({OfTrain.start_polls}))"
_LEFT = OfTeardown.found.file_system
# The same for a repeated call, another for another export: FSx answers a known token with the task that it had.
_EACH_TIME_ANOTHER = Expression(
    f"$substring($hash($states.context.Execution.Id & $string({OfTeardown.proofs}), 'SHA-256'), 0, 32)"
)


def create_scratch(scope: Construct, *, network: Network, ownership: Ownership, key: kms.IKey | None) -> AwsCall:
    scratch = OfTrain.request.scratch
    arguments: dict[str, object] = {
        "FileSystemType": "LUSTRE",
        # The API's own default is 2.10, which cannot be linked by associations.
        "FileSystemTypeVersion": "2.15",
        "StorageCapacity": scratch.StorageCapacity,
        "LustreConfiguration": scratch.LustreConfiguration,
        "SubnetIds": [network.subnet.subnet_id],
        "SecurityGroupIds": [network.file_system_group.security_group_id],
        "Tags": scratch.Tags,
        # The same token for the same start: a repeated call finds the file system, it does not make another.
        "ClientRequestToken": Expression(f"{scratch.ClientRequestToken} & {START_SUFFIX}"),
    }
    return AwsCall(
        scope,
        TrainState.CREATE_SCRATCH,
        service="fsx",
        action="createFileSystem",
        arguments=arguments if key is None else _with_key(arguments, key),
        assign={OfTrain.file_system_id: Expression("$states.result.FileSystem.FileSystemId")},
        allowed_by=[*ownership.may_create(), *network.may_be_used(), *may_encrypt_file_systems(key)],
    )


def _with_key(arguments: dict[str, object], key: kms.IKey) -> Expression:
    """A key can be named for a persistent file system only; a field that is sometimes there takes one expression."""
    persistent = f"{OfTrain.request.scratch.LustreConfiguration}.DeploymentType = 'PERSISTENT_2'"
    parts = ", ".join(f"{name!r}: {_in_jsonata(value)}" for name, value in arguments.items())
    return Expression(f"$merge([{{{parts}}}, {persistent} ? {{'KmsKeyId': '{key.key_arn}'}} : {{}}])")


def _in_jsonata(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_in_jsonata, value))}]"
    return str(value) if isinstance(value, Expression) else f"'{value}'"


def mark_in_use(scope: Construct, *, functions: Functions) -> Ask:
    """From here on the file system may hold work. As long as it is not marked, it is proven empty."""
    question = {"file_system_id": OfTrain.file_system_id, "state": State.IN_USE}
    return Ask(
        scope,
        TrainState.MARK_AS_IN_USE,
        function=functions.training.mark,
        question=question,
        assign={OfTrain.attempt_began: ENTERED},
    )


def mark_kept(scope: Construct, *, functions: Functions) -> Ask:
    return Ask(
        scope,
        TeardownState.KEEP_FILE_SYSTEM,
        function=functions.training.mark,
        question={
            "file_system_id": _LEFT.id,
            "state": State.KEPT,
            "why": OfTeardown.trouble,
            "since": _LEFT.kept_since,
            "usd_a_day": _LEFT.usd_a_day,
        },
        no_retry=[FileSystemGone.__name__],
    )


def export_to_s3(scope: Construct, *, ownership: Ownership) -> AwsCall:
    """The finished checkpoints and the events; never the folder where saves are still being written."""
    return AwsCall(
        scope,
        TeardownState.EXPORT_TO_S3,
        service="fsx",
        action="createDataRepositoryTask",
        arguments={
            "FileSystemId": _LEFT.id,
            "Type": "EXPORT_TO_REPOSITORY",
            "Paths": [EXPORTED_CHECKPOINTS, EXPORTED_EVENTS],
            "Report": {"Enabled": False},
            "ClientRequestToken": _EACH_TIME_ANOTHER,
        },
        assign={OfTeardown.task_id: Expression("$states.result.DataRepositoryTask.TaskId")},
        allowed_by=ownership.may_export(),
        # One task at a time: the pump's last one may still be under way.
        wait_on=FSX_TASK_EXECUTING,
    )


def delete_scratch(scope: Construct, *, ownership: Ownership) -> AwsCall:
    return AwsCall(
        scope,
        TeardownState.DELETE_FILE_SYSTEM,
        service="fsx",
        action="deleteFileSystem",
        arguments={
            # No LustreConfiguration: for scratch even an empty one is refused.
            "FileSystemId": _LEFT.id,
            "ClientRequestToken": Expression(f"'delete-' & {_LEFT.id}"),
        },
        allowed_by=ownership.may_delete(),
        no_retry=[FSX_FILE_SYSTEM_GONE],
        # Refused while an export task is under way.
        wait_on=FSX_BAD_REQUEST,
    )
