"""The history of an execution: at most 25,000 events, and none after its end."""

from __future__ import annotations

import datetime
import threading
from typing import Any

from moto.stepfunctions.parser.api import ExecutionFailedEventDetails, HistoryEventType
from moto.stepfunctions.parser.asl.eval.event.event_manager import EventHistoryContext

from tools.local_cloud import engines

EVENTS = f"{engines.ASL}.eval.event.event_manager"
WORKER = "moto.stepfunctions.parser.backend.execution_worker"
# Developer guide, "Avoid reaching the history quota": event 25,000 is ExecutionSucceeded, or the execution fails.
MOST_EVENTS = 25_000
# As users of AWS saw it (github.com/loads/ardere/issues/86).
ERROR = "States.Runtime"
CAUSE = "The execution reached the maximum number of history events (25000)."
ENDS = (
    HistoryEventType.ExecutionSucceeded,
    HistoryEventType.ExecutionFailed,
    HistoryEventType.ExecutionAborted,
    HistoryEventType.ExecutionTimedOut,
)


class HistoryClosed(Exception):
    """The history takes no more events; this ends the thread that would have written one."""


class StoppedEarly(Exception):
    """The execution was stopped while its definition was read: it must not begin."""


class _HistoryState:
    """The environment of the execution that a history belongs to, and whether the history has ended."""

    def __init__(self, execution: Any) -> None:
        self.execution = execution
        self.lock = threading.RLock()
        self.closed = False


def install() -> None:
    """The interpreter shares one event manager among all branches of an execution; its state is kept there."""
    add = engines.use(EVENTS, "EventManager.add_event")
    environment = engines.use(WORKER, "ExecutionWorker._get_evaluation_environment")

    def begin(self: Any) -> Any:
        if self.stopped():
            raise StoppedEarly
        env = environment(self)
        env.event_manager.history_state = _HistoryState(env)
        return env

    def add_event(self: Any, context: Any, event_type: Any, *details: Any, **more: Any) -> Any:
        state: _HistoryState = self.history_state
        with state.lock:
            if state.closed and state.execution.is_running():
                raise HistoryClosed("The execution was stopped before its first state.")
            if state.closed:
                return context.last_published_event_id
            # A failure inside an execution may have the type of an end, but then the execution still runs.
            state.closed = event_type in ENDS and not state.execution.is_running()
            if not state.closed and len(self._history_event_list) >= MOST_EVENTS - 1:
                state.execution.set_error(ExecutionFailedEventDetails(error=ERROR, cause=CAUSE))
                raise HistoryClosed(CAUSE)
            return add(self, context, event_type, *details, **more)

    engines.replace(WORKER, "ExecutionWorker._get_evaluation_environment", begin)
    engines.replace(EVENTS, "EventManager.add_event", add_event)


def abort(worker: Any, *, error: str | None, cause: str | None) -> None:
    """Stops an execution; nothing that its threads still do is in the history."""
    given = {name: value for name, value in (("error", error), ("cause", cause)) if value is not None}
    with worker.env.event_manager.history_state.lock:
        worker.stop(datetime.datetime.now(datetime.UTC), error, cause)
        _close(worker.env, HistoryEventType.ExecutionAborted, {"executionAbortedEventDetails": given})


def time_out(env: Any) -> None:
    """For an execution that has just been timed out."""
    _close(env, HistoryEventType.ExecutionTimedOut, {"executionTimedOutEventDetails": {}})


def _close(env: Any, event_type: HistoryEventType, details: dict[str, Any]) -> None:
    """Writes the last event at once: a thread of the execution may be in a call that still takes long.

    The event refers to 0, as an abort recorded on AWS does (localstack, test_sfn_api, test_stop_execution).
    """
    env.event_manager.add_event(EventHistoryContext.of_program_start(), event_type, details)
