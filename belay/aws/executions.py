"""Step Functions: what a Train execution was asked for and how it ended; which teardowns there are."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from botocore.exceptions import ClientError

from belay.aws.clients import error_code
from belay.contract.errors import RUN_STILL_ALIVE
from belay.contract.job import NAME
from belay.contract.paths import RunPrefix
from belay.contract.run import run_id
from belay.contract.verdict import Ending
from belay.policy import judging

_ALIVE = {"RUNNING", "PENDING_REDRIVE"}


@dataclass(frozen=True)
class Execution:
    started_at: datetime
    job: str | None
    ending: Ending | None


def prefix_of(arn: str, execution: Execution) -> RunPrefix | None:
    """Where its run lies, if it was accepted; None if its job could not have been."""
    return RunPrefix(execution.job, run_id(arn, execution.started_at)) if execution.job else None


def describe(states: Any, arn: str) -> Execution | None:
    """None for an execution that is no longer on record: Step Functions forgets it after 90 days."""
    try:
        raw = states.describe_execution(executionArn=arn)
    except ClientError as error:
        if error_code(error) == "ExecutionDoesNotExist":
            return None
        raise
    alive = raw["status"] in _ALIVE
    ending = None if alive else judging.of_execution(raw["status"], raw.get("error", ""), raw.get("cause", ""))
    return Execution(raw["startDate"], _job_name(raw.get("input", "")), ending)


def running_for(states: Any, machine_arn: str) -> set[str]:
    """The Train executions that a teardown is at work for."""
    pages = states.get_paginator("list_executions").paginate(stateMachineArn=machine_arn, statusFilter="RUNNING")
    running = [one["executionArn"] for page in pages for one in page["executions"]]
    documents = (json.loads(states.describe_execution(executionArn=arn)["input"]) for arn in running)
    return {str(document.get("execution_arn")) for document in documents if isinstance(document, dict)}


def ended_badly(states: Any, machine_arn: str, *, since: datetime) -> Iterator[tuple[str, datetime]]:
    """Its executions that failed, were stopped or ran out of time since then, and when."""
    for status in ("FAILED", "ABORTED", "TIMED_OUT"):
        pages = states.get_paginator("list_executions").paginate(stateMachineArn=machine_arn, statusFilter=status)
        for one in (one for page in pages for one in page["executions"]):
            # All are looked at, whatever their order: one that ran for days may have stopped just now.
            stopped_at = one.get("stopDate")
            if stopped_at is not None and stopped_at >= since:
                yield one["executionArn"], stopped_at


def owner_of(states: Any, teardown_arn: str, train_machine_arn: str) -> str | None:
    """The Train execution that it was asked for; None if a person mistyped that.

    A refusal is an answer: who asked too early need not ask again.
    """
    described = states.describe_execution(executionArn=teardown_arn)
    document = json.loads(described["input"])
    if not isinstance(document, dict) or described.get("error") == RUN_STILL_ALIVE:
        return None
    owner = str(document.get("execution_arn"))
    return owner if owner.startswith(f"{train_machine_arn.replace(':stateMachine:', ':execution:')}:") else None


def start(states: Any, machine_arn: str, *, name: str, document: str) -> bool:
    """False if an execution of this name was there before: then that one is the answer."""
    try:
        states.start_execution(stateMachineArn=machine_arn, name=name, input=document)
    except ClientError as error:
        if error_code(error) == "ExecutionAlreadyExists":
            return False
        raise
    return True


def _job_name(text: str) -> str | None:
    """The name in the job file, if it is one that could have been accepted: it becomes part of a prefix."""
    try:
        job = json.loads(text)
    except (ValueError, RecursionError):
        return None
    name = job.get("name") if isinstance(job, dict) else None
    return name if isinstance(name, str) and re.fullmatch(NAME, name) else None
