"""What ECS is asked for and what it says of a training task, in its words. No other policy has them. Pure."""

import json
import re
from datetime import UTC, datetime
from typing import Any

from belay.contract.job import Resources
from belay.contract.messages.probes import Phase
from belay.contract.messages.training import ResourceRequirement, TaskRequest
from belay.contract.task import CONTAINER
from belay.policy import phases
from belay.policy.phases import Reading
from belay.policy.stopped_task import Cause, StoppedTask, one_line

_CPU_UNITS = 1024

# Errors of RunTask as Step Functions names them. [G]: Step Functions Developer Guide.
RUN_TASK_THROTTLED = "ECS.AmazonECSException"
"""The API of RunTask names no throttle. It is also what a task gets for which there is no room
(github.com/CloudSnorkel/cdk-github-runners/pull/341)."""
RUN_TASK_UNKNOWN = "AmazonECS.Unknown"
"""RunTask answered with failures and no task [G, connect-ecs]."""
RUN_TASK_REFUSED_FOR_NOW = (
    RUN_TASK_THROTTLED,
    RUN_TASK_UNKNOWN,
    "ECS.ThrottlingException",
    "ECS.LimitExceededException",
    # A throttle of EC2 within RunTask (github.com/cdklabs/construct-hub/pull/415, dagster-io/dagster/issues/33439).
    "ECS.InvalidParameterException",
)
"""Nothing was started."""
RUN_TASK_TRANSIENT = (*RUN_TASK_REFUSED_FOR_NOW, "ECS.ServerException", "ECS.SdkClientException")
"""After the last two a task may run: only a call with a token may be repeated."""

# A task on its way out is still alive: until STOPPED, it may be saving a last checkpoint.
TASK = {
    "PROVISIONING": Phase.PENDING,
    "PENDING": Phase.PENDING,
    "ACTIVATING": Phase.PENDING,
    "RUNNING": Phase.READY,
    "DEACTIVATING": Phase.READY,
    "STOPPING": Phase.READY,
    "DEPROVISIONING": Phase.READY,
    "STOPPED": Phase.GONE,
    "DELETED": Phase.GONE,
}

_INTERRUPTING_STOP_CODES = {
    "SpotInterruption",
    "TerminationNotice",
    "InfrastructureHealth",
    "ServiceSchedulerInitiated",
}
_INSTANCE_LOST = re.compile(r"Host EC2 .*(terminated|stopped)", re.IGNORECASE)
_CAPACITY = re.compile(
    r"RESOURCE:|\bAGENT\b|(?i:no container instances|insufficient\s?\w*\s?capacity|no capacity|capacity is unavailable)"
)
# RunTask was refused for what it asked, not for what was free: asking again changes nothing.
_REFUSED = re.compile(
    r"AccessDenied|InvalidParameter|NotFound|Unsupported|Incompatib|Blocked|ClientException|Permissions"
)
# It could not get the image, open the log or make the container (ECS developer guide, "Stopped task error messages").
_BEFORE_TRAINING = re.compile(r"ResourceInitializationError|CannotPullContainerError|CannotStartContainerError")
_SERVICE = ("ECS.", "AmazonECS.", "Ecs.")
# When it was asked to stop, when its program had ended, when it was gone: the first is when its end began.
_TIMES_OF_THE_END = ("StoppingAt", "ExecutionStoppedAt", "StoppedAt")


def task_request(resources: Resources) -> TaskRequest:
    """What the task of a job asks for."""
    gpus = resources.gpus
    return TaskRequest(
        Cpu=resources.cpus * _CPU_UNITS,
        Memory=resources.memory,
        ResourceRequirements=[ResourceRequirement(Type="GPU", Value=str(gpus))] if gpus else [],
        spot=resources.spot,
    )


def reading_of(lifecycle: str) -> Reading:
    return phases.read(TASK, "the training task", lifecycle, "")


def stopped_task(cause: str) -> StoppedTask | None:
    """The task that stopped. Step Functions gives it as JSON in a string; None: the cause is no task."""
    try:
        task = json.loads(cause)
    except (ValueError, RecursionError):
        return None
    if not isinstance(task, dict) or not ("Containers" in task or "StopCode" in task):
        return None
    stop_code, stopped = str(task.get("StopCode") or ""), str(task.get("StoppedReason") or "")
    exit_code, container_reason = _exit(task)
    text = "; ".join(part for part in (stopped, container_reason) if part) or f"stop code {stop_code or '-'}"
    return StoppedTask(
        cause=_cause(stop_code, stopped, text, placed=bool(task.get("ContainerInstanceArn"))),
        asked_because=stopped,
        exit_code=exit_code,
        exit_reason=one_line(container_reason),
        text=one_line(text),
        at=_end_began(task),
    )


def not_started(error: str, cause: str) -> Cause | None:
    """Why no task was started; None: the error says nothing of it."""
    if _CAPACITY.search(cause):
        return Cause.NO_CAPACITY
    is_its_own = error.startswith(_SERVICE)
    if error == "States.Permissions" or (is_its_own and _REFUSED.search(f"{error}: {cause}")):
        return Cause.REFUSED
    return Cause.NO_CAPACITY if is_its_own else None


def is_before_training(reason: str) -> bool:
    """Whether a task that has stopped for this reason cannot have run a line of the training."""
    return bool(_BEFORE_TRAINING.search(reason))


def _cause(stop_code: str, stopped: str, text: str, *, placed: bool) -> Cause:
    if _INSTANCE_LOST.search(stopped) or stop_code in _INTERRUPTING_STOP_CODES:
        return Cause.INSTANCE_LOST
    if stop_code == "TaskFailedToStart":
        # A task without an instance has waited for one too long, whatever words ECS has for that.
        return Cause.NO_CAPACITY if not placed or _CAPACITY.search(text) else Cause.FAILED_TO_START
    return Cause.STOP_REQUESTED if stop_code == "UserInitiated" else Cause.EXITED


def _exit(task: dict[str, Any]) -> tuple[int | None, str]:
    containers = task.get("Containers")
    for container in containers if isinstance(containers, list) else []:
        if isinstance(container, dict) and container.get("Name") in (None, CONTAINER):
            code = container.get("ExitCode")
            return (code if isinstance(code, int) else None), str(container.get("Reason") or "")
    return None, ""


def _end_began(task: dict[str, Any]) -> datetime | None:
    """Step Functions gives moments as milliseconds since 1970."""
    values = [task.get(name) for name in _TIMES_OF_THE_END]
    moments = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    try:
        return datetime.fromtimestamp(min(moments) / 1000, UTC) if moments else None
    except (ValueError, OverflowError, OSError):
        return None
