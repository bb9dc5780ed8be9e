"""What went wrong, in one sentence and one number; what nobody foresaw keeps its traceback."""

import traceback

from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, PartialCredentialsError

from client.checkpoints import CheckpointDamaged, NoCheckpoint
from client.cli import voice
from client.cli.outcome import Exit, Refused
from client.deployment import NotDeployed
from client.jobfile import Unreadable

_GONE = {"InvalidArn", "NoSuchBucket"}


def told(error: Exception) -> int:
    match error:
        case Refused():
            return _say(str(error), error.exit)
        case Unreadable():
            return _say(str(error), Exit.JOB_REFUSED)
        case NotDeployed() | NoCheckpoint():
            return _say(str(error), Exit.NOT_FOUND)
        case CheckpointDamaged():
            return _say(str(error), Exit.DAMAGED)
        case NoCredentialsError() | PartialCredentialsError():
            return _say("no AWS credentials; set AWS_PROFILE, or run 'aws configure'", Exit.FAILED)
        case ClientError(response={"Error": {"Code": "ExecutionDoesNotExist"}}):
            return _say("there is no such run here; 'belay ps' lists them", Exit.NOT_FOUND)
        case ClientError():
            code = error.response["Error"]["Code"]
            return _say(str(error), Exit.NOT_FOUND if code in _GONE else Exit.FAILED)
        case OSError(filename=str(path), strerror=str(reason)):
            return _say(f"{path}: {reason}", Exit.FAILED)
        case BotoCoreError() | OSError():
            return _say(str(error), Exit.FAILED)
    traceback.print_exception(error)
    return Exit.FAILED


def _say(text: str, exit: Exit) -> int:
    voice.console(error=True).print(f"belay: {text}", markup=False, soft_wrap=True)
    return exit
