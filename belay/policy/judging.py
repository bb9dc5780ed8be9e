"""How training ended, as its tasks and Step Functions say. Pure, and never raises: a run needs an answer."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from belay.contract import exit_codes, stop_reasons
from belay.contract.certificate import EndedBy
from belay.contract.messages.training import Wait
from belay.contract.verdict import Ending, Training, training_in
from belay.policy import ecs_words as backend
from belay.policy.stopped_task import Cause, StoppedTask, one_line
from belay.policy.trainer_log import TrainerLog


class Retriable(StrEnum):
    """The causes that a job may ask to be retried, by their names in the job file."""

    CAPACITY = "capacity"
    INTERRUPTION = "interruption"
    CRASH = "crash"


_CAUSE_OF = {
    Training.NO_CAPACITY: Retriable.CAPACITY,
    Training.INTERRUPTED: Retriable.INTERRUPTION,
    Training.CRASHED: Retriable.CRASH,
    Training.HUNG: Retriable.CRASH,
}

_OUTCOME_OF = {
    Cause.STOP_REQUESTED: Training.STOPPED,
    Cause.INSTANCE_LOST: Training.INTERRUPTED,
    Cause.NO_CAPACITY: Training.NO_CAPACITY,
    Cause.FAILED_TO_START: Training.CRASHED,
    Cause.REFUSED: Training.NEVER_STARTED,
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
    Training.HUNG: EndedBy.TRAINING,
    Training.NO_PROGRESS: EndedBy.TRAINING,
    Training.TIMED_OUT: EndedBy.TIME_LIMIT,
    Training.TIME_SPENT: EndedBy.TIME_LIMIT,
    Training.BUDGET_SPENT: EndedBy.BUDGET,
    Training.INTERRUPTED: EndedBy.INSTANCE,
    Training.NO_CAPACITY: EndedBy.CAPACITY,
    Training.STOPPED: EndedBy.REQUEST,
    Training.NEVER_STARTED: EndedBy.BEFORE,
}


# Time does not remove these: what was asked for is wrong, or not allowed.
_FINAL = re.compile(
    r"not authorized|Denied|Unauthorized|Forbidden|[Pp]ermission|unable to (access|validate)|BadRequest|Invalid"
    r"|not found|never pushed|Incompatible|Unsupported|MISCONFIGURED|NotFound|Missing"
    r"|States\.(Runtime|DataLimitExceeded|Permissions|Query)"
)
NOT_ON_RECORD = Ending(outcome=Training.CRASHED, reason="how it ended is not on record", source="execution")


@dataclass(frozen=True)
class NodeEnd:
    """How training ended on one node, and when that end began, as far as it is known."""

    node: int
    ending: Ending
    at: datetime | None = None


def of_nodes(ends: Iterable[NodeEnd]) -> Ending:
    """How training ended on all nodes together: completed where it completed on each, else as the first that failed.

    The end of one node ends the others: they crash because it does not answer, or are asked to stop. So the first
    explains the rest. Where times are equal or not known, a failure comes before a stop.
    """
    ends = list(ends)
    failed = [end for end in ends if end.ending.outcome is not Training.COMPLETED]
    first = min(failed or ends, key=_order, default=None)
    if first is None:
        return NOT_ON_RECORD
    if len(ends) == 1 or not failed:
        return first.ending
    return first.ending.model_copy(update={"reason": one_line(f"node {first.node}: {first.ending.reason}")})


def of_node(node: int, error: Any, cause: Any) -> NodeEnd:
    """The end of one node's task, in the words of the state that ran it."""
    task = backend.stopped_task(str(cause or ""))
    return NodeEnd(node, of_task(error, cause), task.at if task else None)


def of_task(error: Any, cause: Any) -> Ending:
    """The end of the state that runs a training task, where it was not a success."""
    error, cause = str(error or ""), str(cause or "")
    if error == Training.NEVER_STARTED:
        return Ending(outcome=Training.NEVER_STARTED, reason=one_line(cause))
    if error in ("States.Timeout", "States.HeartbeatTimeout"):
        return Ending(outcome=Training.TIMED_OUT, reason="its time limit passed")
    task = backend.stopped_task(cause)
    if task is not None:
        return _of_stopped_task(task)
    text = one_line(f"{error}: {cause}" if cause else error or "no cause was given")
    match backend.not_started(error, cause):
        case Cause.NO_CAPACITY:
            return Ending(outcome=Training.NO_CAPACITY, reason=text)
        case Cause.REFUSED:
            return Ending(outcome=Training.NEVER_STARTED, reason=text)
    # An error that says nothing of the task, a lost reply for example: what the trainer itself said knows better.
    return Ending(outcome=Training.CRASHED, reason=text, source="execution")


def of_execution(status: str, error: str, cause: str) -> Ending:
    """The end of a Train execution of which only the status is known, taking it that training had begun."""
    training = training_in(error)
    if training:
        return Ending(outcome=training, reason=one_line(cause), source="execution")
    because = f" ({one_line(': '.join(part for part in (error, cause) if part))})" if error or cause else ""
    outcome, how = _EXECUTION_ENDS.get(status, (Training.CRASHED, f"the execution ended as {status}"))
    return Ending(outcome=outcome, reason=how + because, source="execution")


def never_started(ending: Ending) -> Ending:
    """The same end, of an execution whose training cannot have begun."""
    return ending if ending.source == "task" else ending.model_copy(update={"outcome": Training.NEVER_STARTED})


def corrected(ending: Ending, log: TrainerLog) -> Ending:
    """What the trainer said of itself outweighs what the end of the execution makes one guess."""
    if ending.source == "task" or ending.outcome is Training.COMPLETED:
        return ending
    if log.source == "silent":
        return never_started(ending)
    if log.finished:
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


def wait_of(ending: Ending) -> Wait:
    """What a run that may not try again at once can wait for."""
    if ending.outcome is Training.NO_CAPACITY:
        return Wait.INSTANCE
    never_ran = ending.outcome is Training.NEVER_STARTED or backend.is_before_training(ending.reason)
    may_pass = never_ran and not _FINAL.search(ending.reason)
    return Wait.SERVICE if may_pass else Wait.NOTHING


def _of_stopped_task(task: StoppedTask) -> Ending:
    if task.asked_because.startswith(stop_reasons.NO_CAPACITY):
        return Ending(outcome=Training.NO_CAPACITY, reason="no instance took the task within its limit")
    if task.asked_because.startswith(stop_reasons.INTERRUPTION):
        return Ending(outcome=Training.INTERRUPTED, reason=task.text)
    if outcome := _OUTCOME_OF.get(task.cause):
        return Ending(outcome=outcome, reason=task.text)
    why = task.exit_reason
    match task.exit_code:
        case exit_codes.TIME_SPENT:
            return Ending(outcome=Training.TIME_SPENT, reason="limits.train left only what saving takes")
        case exit_codes.BUDGET_SPENT:
            return Ending(outcome=Training.BUDGET_SPENT, reason="limits.budget_usd left only what saving takes")
        case exit_codes.HUNG:
            return Ending(outcome=Training.HUNG, reason="it made no step for too long; see its log")
        case exit_codes.NO_PROGRESS:
            return Ending(outcome=Training.NO_PROGRESS, reason="three attempts failed at the same step")
        case 137:
            return Ending(outcome=Training.CRASHED, reason=f"killed (exit code 137; {why or 'often out of memory'})")
        case 143:
            # No one asked for this task to be stopped, so the instance itself is going down.
            return Ending(outcome=Training.INTERRUPTED, reason="stopped by its instance (exit code 143)")
        case int():
            return Ending(outcome=Training.CRASHED, reason=f"exit code {task.exit_code}" + (f"; {why}" if why else ""))
    return Ending(outcome=Training.CRASHED, reason=task.text)


def _order(end: NodeEnd) -> tuple[bool, datetime, bool, str, int]:
    at = end.at or datetime.max.replace(tzinfo=UTC)
    return end.at is None, at, end.ending.outcome is Training.STOPPED, end.ending.outcome, end.node


def _count(counts: Any, cause: Retriable) -> int:
    value = counts.get(cause.value) if isinstance(counts, dict) else None
    return value if isinstance(value, int) and value > 0 else 0
