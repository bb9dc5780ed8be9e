"""An execution's history, read as the states that were entered and the calls that failed. Pure."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from belay.contract.states import TrainState

# Polls go round and round, and questions lead on at once: what counts for a person is where they led.
_QUESTION = "ChoiceStateEntered"
_INSIDE_A_POLL = re.compile(r".*: (asked for|wait|how far\?)")


@dataclass(frozen=True)
class Entered:
    """A state was entered; `teardown` is true in the machine that Train calls for it."""

    at: datetime
    state: str
    teardown: bool = False


@dataclass(frozen=True)
class Trouble:
    """A call failed. The flow may have repeated it or found another way."""

    at: datetime
    error: str
    cause: str


def entered(events: Iterable[dict[str, Any]], *, teardown: bool = False) -> list[Entered]:
    """The states that were entered, without those in which a flow only polls or decides."""
    return [
        Entered(event["timestamp"], name, teardown)
        for event in events
        if "stateEnteredEventDetails" in event
        and event["type"] != _QUESTION
        and not _INSIDE_A_POLL.fullmatch(name := event["stateEnteredEventDetails"]["name"])
    ]


def troubles(events: Iterable[dict[str, Any]]) -> list[Trouble]:
    """Everything that failed on the way."""
    found = []
    for event in events:
        for key in ("taskFailedEventDetails", "taskTimedOutEventDetails", "taskSubmitFailedEventDetails"):
            if details := event.get(key):
                cause = _in_short(details.get("cause", ""))
                found.append(Trouble(event["timestamp"], details.get("error", "?"), cause))
    return found


def child_execution(events: Iterable[dict[str, Any]]) -> str | None:
    """The execution that Train started for its end; not those in which it gave a file system back."""
    state = ""
    for event in events:
        state = event.get("stateEnteredEventDetails", {}).get("name", state)
        details = event.get("taskSubmittedEventDetails")
        if details and details["resourceType"] == "states" and state == TrainState.TEARDOWN:
            return str(json.loads(details["output"])["ExecutionArn"])
    return None


def _in_short(cause: str) -> str:
    """ECS gives the whole task as JSON, Lambda its trace, an execution all of itself; a person wants the reason."""
    try:
        task = json.loads(cause)
    except ValueError:
        return cause
    if isinstance(task, dict) and "errorMessage" in task:
        return str(task["errorMessage"])
    if isinstance(task, dict) and "ExecutionArn" in task:
        return f"{task.get('Error', '?')}: {task.get('Cause', '')}"
    if not isinstance(task, dict) or "StoppedReason" not in task:
        return cause
    codes = [str(container["ExitCode"]) for container in task.get("Containers", []) if "ExitCode" in container]
    return str(task["StoppedReason"]) + (f" (exit code {', '.join(codes)})" if codes else "")
