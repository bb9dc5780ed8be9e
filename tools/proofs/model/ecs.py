"""ECS as far as the flows use it: how a training task starts, saves, ends and is stopped."""

from collections.abc import Iterator

from belay.contract.task import ONLY_START
from tools.proofs.model import s3
from tools.proofs.model.aws_state import AwsState, Training
from tools.proofs.model.execution import Answer, Fault, Waiting
from tools.proofs.model.values import Frozen, compact, freeze

_CLUSTER = f"arn:aws:ecs:us-east-1:{s3.ACCOUNT}:task/belay"
_EXITED = "EssentialContainerExited"
_LOST = "Host EC2 (instance i-1) terminated."


# A task that only shows that there is an instance has no file system, and no attempt.
_NO_FILE_SYSTEM, _NO_ATTEMPT = "", 0


def run(aws: AwsState, asked: Frozen) -> tuple[AwsState, object]:
    override = asked["Overrides"]["ContainerOverrides"][0]
    variables = {one["Name"]: one["Value"] for one in override["Environment"]}
    only_starts = override.get("Command") == (ONLY_START,)
    node = int(variables.get("BELAY_NODE", 0))
    attempt = _NO_ATTEMPT if only_starts else int(variables["BELAY_ATTEMPT"])
    # The token of an attempt is its own: a call that is repeated finds the task that it started.
    of_token = (one for one in aws.trainings if (one.node, one.attempt) == (node, attempt) and not one.confirmed)
    known = next((one for one in of_token if one.may_write), None)
    if known:
        return aws.with_training(known._replace(confirmed=True)), Waiting(known.arn)
    # ECS forgets a task soon after it has stopped.
    alive = tuple(one for one in aws.trainings if one.may_write)
    arn = f"{_CLUSTER}/{len(alive) + 1}"
    id = variables.get("BELAY_SCRATCH_DNS", _NO_FILE_SYSTEM).partition(".")[0]
    if any(one.file_system == id for one in alive):
        aws = aws.breaks("two training tasks write on one file system")
    if not only_starts and any(link.imported != "SUCCEEDED" for mount in aws.file_systems for link in mount.links):
        aws = aws.breaks("training begins before the names of what lies in S3 are there")
    new = Training(arn, attempt, id, "PROVISIONING", node=node)
    return aws._replace(trainings=(*alive, new)), Waiting(arn)


def unconfirmed(aws: AwsState) -> AwsState:
    """The reply to the call that started the newest task is lost."""
    *others, newest = aws.trainings
    return aws._replace(trainings=(*others, newest._replace(confirmed=False)))


def ended(aws: AwsState, arn: str) -> object | None:
    """The result or error of `.sync` for a task that has stopped; None while it runs."""
    found = _task(aws, arn)
    if found is None or found.status != "STOPPED":
        return None
    task = described(found)
    return freeze(task) if found.exit == 0 else Fault("States.TaskFailed", compact(task))


def described(stopped: Training) -> dict[str, object]:
    """The task as Step Functions gives it."""
    return {
        "TaskArn": stopped.arn,
        "LastStatus": "STOPPED",
        "StopCode": stopped.code,
        "StoppedReason": stopped.reason,
        "ContainerInstanceArn": "arn:i-1",
        "Containers": [{"Name": "trainer"} | ({} if stopped.exit is None else {"ExitCode": stopped.exit})],
    }


def stop(aws: AwsState, asked: Frozen) -> tuple[AwsState, object]:
    found = _task(aws, asked["Task"])
    if found is None:
        return aws, Fault("Ecs.InvalidParameterException", "The referenced task was not found")
    return stop_task(aws, found, asked.get("Reason", "")), freeze({"Task": {"TaskArn": found.arn}})


def stop_task(aws: AwsState, found: Training, reason: str) -> AwsState:
    after = {"PROVISIONING": "STOPPED", "RUNNING": "STOPPING"}.get(found.status)
    if after is None:
        return aws
    return aws.with_training(found._replace(status=after, code="UserInitiated", reason=reason))


def next_of(aws: AwsState, arn: str, *, most_saves: int) -> Iterator[Answer]:
    found = _task(aws, arn)
    if found is None:
        return
    match found.status:
        case "PROVISIONING" if found.attempt == _NO_ATTEMPT:
            yield Answer("there is an instance", 0, _stopped(aws, found, _EXITED, "", 0), None)
            yield Answer("no instance yet", 1, aws, None)
            yield Answer(
                "no instance is found", 1, _stopped(aws, found, "TaskFailedToStart", "RESOURCE:GPU", None), None
            )
        case "PROVISIONING":
            running = aws.with_training(found._replace(status="RUNNING"))
            yield Answer("training begins", 0, _write_line(running, found, s3.started()), None)
            yield Answer("no instance yet", 1, aws, None)
            yield Answer(
                "the task cannot start", 1, _stopped(aws, found, "TaskFailedToStart", "CannotPull", None), None
            )
        case "RUNNING":
            yield from _while_training(aws, found, most_saves)
        case "STOPPING":
            yield Answer("training stops", 0, _stopped(aws, found, found.code, found.reason, 143), None)
            yield Answer("training still stops", 1, aws, None)
            if _can_save(aws, found, most_saves):
                yield Answer("training saves once more", 1, _save(aws, found), None)


def _while_training(aws: AwsState, found: Training, most_saves: int) -> Iterator[Answer]:
    done = _stopped(_write_line(aws, found, s3.finished()), found, _EXITED, "", 0)._replace(finished=True)
    if _can_save(aws, found, most_saves):
        yield Answer("a checkpoint is saved", 0, _save(aws, found), None)
        yield Answer("a checkpoint is saved, its log line is lost", 1, _save(aws, found, logged=False), None)
        yield Answer("training completes early", 1, done, None)
    else:
        yield Answer("training completes", 0, done, None)
    crashed = _write_line(aws, found, s3.failed())
    yield Answer("training crashes", 1, _stopped(crashed, found, _EXITED, "", 1), None)
    yield Answer("training is killed", 1, _stopped(aws, found, _EXITED, "", 137), None)
    yield Answer("the instance is lost", 1, _stopped(aws, found, "TerminationNotice", _LOST, None), None)
    yield Answer("training hangs", 1, aws, None)


def _can_save(aws: AwsState, found: Training, most_saves: int) -> bool:
    mount = aws.file_system(found.file_system)
    return mount is not None and mount.lifecycle == "AVAILABLE" and mount.saved < most_saves


def _save(aws: AwsState, found: Training, *, logged: bool = True) -> AwsState:
    """First the checkpoint is whole on the mount, then the event file there and the log say so."""
    mount = aws.file_system(found.file_system)
    assert mount is not None
    step = mount.saved + 1
    aws = aws.with_file_system(mount._replace(saved=step))._replace(saved=max(step, aws.saved))
    return _write_line(aws, found, s3.saved(step), logged=logged)


def _write_line(aws: AwsState, found: Training, line: str, *, logged: bool = True) -> AwsState:
    mount = aws.file_system(found.file_system)
    if mount is not None and line not in mount.events:
        aws = aws.with_file_system(mount._replace(events=(*mount.events, line)))
    return aws._replace(log=(*aws.log, line)) if logged and line not in aws.log else aws


def _stopped(aws: AwsState, found: Training, code: str, reason: str, exit: int | None) -> AwsState:
    return aws.with_training(found._replace(status="STOPPED", code=code, reason=reason, exit=exit))


def _task(aws: AwsState, arn: str) -> Training | None:
    return next((one for one in aws.trainings if one.arn == arn), None)
