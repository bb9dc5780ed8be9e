"""How training ended, from what ECS and Step Functions say of it. Pure, and never raises: a run needs an answer."""

import json
import re
from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from contract import exit_codes, stop_reasons
from contract.certificate import EndedBy
from contract.verdict import Training
from lambdas.sense.witness import Witness

_LONGEST_REASON = 300

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
_OUR_OWN_ERROR = re.compile(rf"Training({'|'.join(Training)})\.\w+")


class Retriable(StrEnum):
    """The causes that a job may ask to be retried, by their names in the job file."""

    CAPACITY = "capacity"
    INTERRUPTION = "interruption"
    CRASH = "crash"


_CAUSE_OF = {
    Training.NO_CAPACITY: Retriable.CAPACITY,
    Training.INTERRUPTED: Retriable.INTERRUPTION,
    Training.CRASHED: Retriable.CRASH,
}

_STOPPED = "the execution was stopped"
_EXECUTION_ENDS = {
    "SUCCEEDED": (Training.COMPLETED, "the execution succeeded"),
    "ABORTED": (Training.STOPPED, _STOPPED),
    "TIMED_OUT": (Training.TIMED_OUT, "the execution ran out of time"),
    "FAILED": (Training.CRASHED, "the execution failed"),
}
_ENDED_BY = {
    Training.COMPLETED: EndedBy.TRAINING,
    Training.CRASHED: EndedBy.TRAINING,
    Training.TIMED_OUT: EndedBy.TIME_LIMIT,
    Training.TIME_SPENT: EndedBy.TIME_LIMIT,
    Training.BUDGET_SPENT: EndedBy.BUDGET,
    Training.INTERRUPTED: EndedBy.INSTANCE,
    Training.NO_CAPACITY: EndedBy.CAPACITY,
    Training.STOPPED: EndedBy.REQUEST,
    Training.NEVER_STARTED: EndedBy.BEFORE,
}


class Ending(BaseModel):
    """`task`: judged from the task itself. `execution`: only what the execution saw is known."""

    model_config = ConfigDict(frozen=True)

    outcome: Training
    reason: str
    source: Literal["task", "execution"] = "task"


NOT_ON_RECORD = Ending(outcome=Training.CRASHED, reason="how it ended is not on record", source="execution")


def of_task(error: Any, cause: Any) -> Ending:
    """The end of ecs:runTask.sync that was not a success."""
    error, cause = str(error or ""), str(cause or "")
    if error in ("States.Timeout", "States.HeartbeatTimeout"):
        return Ending(outcome=Training.TIMED_OUT, reason="its time limit passed")
    task = _task_in(cause)
    if task is not None:
        return _of_stopped_task(task)
    text = _trimmed(f"{error}: {cause}" if cause else error or "no cause was given")
    if _CAPACITY.search(cause):
        return Ending(outcome=Training.NO_CAPACITY, reason=text)
    if error == "States.Permissions" or (_is_of_ecs(error) and _REFUSED.search(text)):
        return Ending(outcome=Training.NEVER_STARTED, reason=text)
    if _is_of_ecs(error):
        return Ending(outcome=Training.NO_CAPACITY, reason=text)
    # An error that says nothing of the task, a lost reply for example: what the trainer itself said knows better.
    return Ending(outcome=Training.CRASHED, reason=text, source="execution")


def of_execution(status: str, error: str, cause: str) -> Ending:
    """The end of a Train execution of which only the status is known, taking it that training had begun."""
    told = _OUR_OWN_ERROR.fullmatch(error)
    if told:
        return Ending(outcome=Training(told[1]), reason=_trimmed(cause), source="execution")
    because = f" ({_trimmed(': '.join(part for part in (error, cause) if part))})" if error or cause else ""
    outcome, how = _EXECUTION_ENDS.get(status, (Training.CRASHED, f"the execution ended as {status}"))
    return Ending(outcome=outcome, reason=how + because, source="execution")


def never_started(ending: Ending) -> Ending:
    """The same end, of an execution whose training cannot have begun."""
    return ending if ending.source == "task" else ending.model_copy(update={"outcome": Training.NEVER_STARTED})


def corrected(ending: Ending, witness: Witness) -> Ending:
    """What the trainer said of itself outweighs what the end of the execution makes one guess."""
    if ending.source == "task" or ending.outcome is Training.COMPLETED:
        return ending
    if witness.heard == "silent":
        return never_started(ending)
    if witness.finished:
        reason = f"it had finished when {ending.reason}"
        return ending.model_copy(update={"outcome": Training.COMPLETED, "reason": reason})
    return ending


def ended_by(ending: Ending) -> EndedBy:
    """Who or what it was; of an interruption and of a run that never began, the reason knows more."""
    if ending.outcome is Training.INTERRUPTED and "spot" in ending.reason.lower():
        return EndedBy.SPOT
    if ending.outcome is Training.NEVER_STARTED and ending.reason.startswith(_STOPPED):
        return EndedBy.REQUEST
    return _ENDED_BY[ending.outcome]


def decide_retry(outcome: Training, attempts: Any, allowed: Any) -> tuple[bool, dict[str, int]]:
    """Whether the job's retry counts leave another attempt, and the attempts made so far with this one."""
    made = {cause.value: _count(attempts, cause) for cause in Retriable}
    cause = _CAUSE_OF.get(outcome)
    if cause is None:
        return False, made
    retry = made[cause] < _count(allowed, cause)
    return retry, made | {cause.value: made[cause] + 1}


def _of_stopped_task(task: dict[str, Any]) -> Ending:
    stop_code, stopped = str(task.get("StopCode") or ""), str(task.get("StoppedReason") or "")
    exit_code, container_reason = _exit(task)
    text = _trimmed("; ".join(part for part in (stopped, container_reason) if part) or f"stop code {stop_code or '-'}")

    if stopped.startswith(stop_reasons.NO_CAPACITY):
        return Ending(outcome=Training.NO_CAPACITY, reason="no instance took the task within its limit")
    if stopped.startswith(stop_reasons.INTERRUPTION) or _INSTANCE_LOST.search(stopped):
        return Ending(outcome=Training.INTERRUPTED, reason=text)
    if stop_code in _INTERRUPTING_STOP_CODES:
        return Ending(outcome=Training.INTERRUPTED, reason=text)
    if stop_code == "TaskFailedToStart":
        return Ending(outcome=Training.NO_CAPACITY if _CAPACITY.search(text) else Training.CRASHED, reason=text)
    if stop_code == "UserInitiated":
        return Ending(outcome=Training.STOPPED, reason=text)
    match exit_code:
        case exit_codes.TIME_SPENT:
            return Ending(outcome=Training.TIME_SPENT, reason="limits.train left only what saving takes")
        case exit_codes.BUDGET_SPENT:
            return Ending(outcome=Training.BUDGET_SPENT, reason="limits.budget_usd left only what saving takes")
        case 137:
            why = container_reason or "often out of memory"
            return Ending(outcome=Training.CRASHED, reason=f"killed (exit code 137; {why})")
        case 143:
            # Nobody asked ECS to stop it, so the instance itself is going down.
            return Ending(outcome=Training.INTERRUPTED, reason="told to stop by its instance (exit code 143)")
        case int():
            return Ending(
                outcome=Training.CRASHED,
                reason=f"exit code {exit_code}" + (f"; {container_reason}" if container_reason else ""),
            )
    return Ending(outcome=Training.CRASHED, reason=text)


def _task_in(cause: str) -> dict[str, Any] | None:
    """Step Functions gives the task as JSON in a string; a service error is plain text."""
    try:
        task = json.loads(cause)
    except (ValueError, RecursionError):
        return None
    return task if isinstance(task, dict) and ("Containers" in task or "StopCode" in task) else None


def _exit(task: dict[str, Any]) -> tuple[int | None, str]:
    containers = task.get("Containers")
    for container in containers if isinstance(containers, list) else []:
        if isinstance(container, dict) and container.get("Name") in (None, "trainer"):
            code = container.get("ExitCode")
            return (code if isinstance(code, int) else None), _trimmed(str(container.get("Reason") or ""))
    return None, ""


def _is_of_ecs(error: str) -> bool:
    return error.startswith(("ECS.", "AmazonECS.", "Ecs."))


def _count(counts: Any, cause: Retriable) -> int:
    value = counts.get(cause.value) if isinstance(counts, dict) else None
    return value if isinstance(value, int) and value > 0 else 0


def _trimmed(text: str) -> str:
    """One line that fits into a sentence."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_REASON else line[: _LONGEST_REASON - 1] + "…"
