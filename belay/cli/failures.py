"""An error becomes one sentence and an exit code; an unexpected one keeps its traceback."""

import traceback

from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, PartialCredentialsError

from belay.aws.deployment import NotDeployed, OtherVersion
from belay.cli import output
from belay.cli.outcome import Exit, Refused
from belay.client.checkpoints import CheckpointDamaged, NoCheckpoint
from belay.client.jobfile import Unreadable

_NOT_FOUND = {"InvalidArn", "NoSuchBucket"}


def report(error: Exception) -> int:
    match error:
        case Refused():
            return _print(str(error), error.exit)
        case Unreadable():
            return _print(str(error), Exit.JOB_REFUSED)
        case NotDeployed() | NoCheckpoint():
            return _print(str(error), Exit.NOT_FOUND)
        case OtherVersion():
            return _print(str(error), Exit.FAILED)
        case CheckpointDamaged():
            return _print(str(error), Exit.DAMAGED)
        case NoCredentialsError() | PartialCredentialsError():
            return _print("no AWS credentials; set AWS_PROFILE, or run 'aws configure'", Exit.FAILED)
        case ClientError(response={"Error": {"Code": "ExecutionDoesNotExist"}}):
            return _print("there is no such run here; 'belay ps' lists them", Exit.NOT_FOUND)
        case ClientError():
            code = error.response["Error"]["Code"]
            return _print(str(error), Exit.NOT_FOUND if code in _NOT_FOUND else Exit.FAILED)
        case OSError(filename=str(path), strerror=str(reason)):
            return _print(f"{path}: {reason}", Exit.FAILED)
        case BotoCoreError() | OSError():
            return _print(str(error), Exit.FAILED)
    traceback.print_exception(error)
    return Exit.FAILED


def _print(text: str, exit: Exit) -> int:
    output.console(error=True).print(f"belay: {text}", markup=False, soft_wrap=True)
    return exit
