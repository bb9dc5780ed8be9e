"""Executions: ministack keeps their records, moto's interpreter runs them."""

from __future__ import annotations

import datetime
import json
import logging
from collections.abc import Mapping
from typing import Any

from moto.stepfunctions.parser.asl.eval.evaluation_details import (
    AWSExecutionDetails,
    EvaluationDetails,
    ExecutionDetails,
    StateMachineDetails,
)
from moto.stepfunctions.parser.asl.eval.program_state import ProgramEnded, ProgramError, ProgramTimedOut
from moto.stepfunctions.parser.backend.execution_worker import ExecutionWorker
from moto.stepfunctions.parser.backend.execution_worker_comm import ExecutionWorkerCommunication

from tools.local_cloud import engines
from tools.local_cloud.interpreter import execution_requests, history
from tools.local_cloud.interpreter.events import publish
from tools.local_cloud.interpreter.history import StoppedEarly
from tools.local_cloud.platform.handlers import answer, checked
from tools.local_cloud.settings import ACCOUNT, REGION

MODULE = "ministack.services.stepfunctions"
log = logging.getLogger(__name__)


class Executions:
    """The interpreter's side of every execution since the start."""

    def __init__(self) -> None:
        self.workers: dict[str, ExecutionWorker] = {}
        self._records = engines.use(MODULE, "_executions")
        self._machines = engines.use(MODULE, "_state_machines")

    def install(self) -> None:
        """Replaces running, stopping and history; ministack keeps names, lists and idempotency."""
        start, stop = engines.use(MODULE, "_start_execution"), engines.use(MODULE, "_stop_execution")
        show_history = engines.use(MODULE, "_get_execution_history")

        def start_execution(request: dict[str, Any]) -> Any:
            running = self._running(request)
            # The same name with the same input, while it runs, is the same execution.
            return answer(lambda: running) if running else start(request)

        def stop_execution(request: dict[str, Any]) -> Any:
            answer = stop(request)
            worker = self.workers.get(request.get("executionArn", ""))
            if answer[0] < 300 and worker is not None and worker.env is not None:
                history.abort(worker, error=request.get("error"), cause=request.get("cause"))
            return answer

        def get_history(request: dict[str, Any]) -> Any:
            if record := self._records.get(request.get("executionArn")):
                self._show_history(record)
            return show_history(request)

        engines.replace(MODULE, "_start_execution", checked(execution_requests.check_start, start_execution))
        engines.replace(MODULE, "_run_execution", self.run)
        engines.replace(MODULE, "_stop_execution", stop_execution)
        engines.replace(MODULE, "_get_execution_history", get_history)
        engines.replace(MODULE, "_emit_execution_status_event", publish)

    def _running(self, request: dict[str, Any]) -> dict[str, Any] | None:
        for record in self._records.values():
            same = record["name"] == request.get("name") and record["stateMachineArn"] == request["stateMachineArn"]
            if same and record["status"] == "RUNNING" and record["input"] == request.get("input", "{}"):
                started = datetime.datetime.fromisoformat(record["startDate"]).timestamp()
                return {"executionArn": record["executionArn"], "startDate": started}
        return None

    def run(self, arn: str) -> None:
        """Runs an execution to its end, on the thread that ministack made for it."""
        record = self._records[arn]
        try:
            worker = self.workers[arn] = self.worker_of(record, self._machines[record["stateMachineArn"]])
            worker.stopped = lambda: record["status"] != "RUNNING"  # type: ignore[attr-defined]
            worker._execution_logic()  # type: ignore[no-untyped-call]
        except StoppedEarly:
            return
        except Exception as error:  # The interpreter cannot run this definition: fail visibly.
            log.exception("execution %s cannot run", arn)
            self._end(record, "FAILED", error="States.Runtime", cause=f"{type(error).__name__}: {error}")
            return
        assert worker.env is not None
        state = worker.env.program_state()
        match state:
            case ProgramEnded():
                self._end(record, "SUCCEEDED", output=json.dumps(worker.env.states.get_input()))
            case ProgramError():
                failed = state.error or {}
                self._end(record, "FAILED", error=failed.get("error"), cause=failed.get("cause"))
            case ProgramTimedOut():
                history.time_out(worker.env)
                self._end(record, "TIMED_OUT", error="States.Timeout")

    @staticmethod
    def worker_of(record: dict[str, Any], machine: dict[str, Any]) -> ExecutionWorker:
        """The interpreter for one execution of a machine."""
        role = machine["roleArn"]
        details = EvaluationDetails(
            aws_execution_details=AWSExecutionDetails(account=ACCOUNT, region=REGION, role_arn=role),
            execution_details=ExecutionDetails(
                arn=record["executionArn"],
                name=record["name"],
                role_arn=role,
                inpt=json.loads(record["input"]),
                start_time=record["startDate"],
            ),
            state_machine_details=StateMachineDetails(
                arn=record["stateMachineArn"],
                name=machine["name"],
                typ=machine.get("type", "STANDARD"),
                definition=machine["definition"],
            ),
        )
        return ExecutionWorker(
            evaluation_details=details, exec_comm=_NoCallback(), cloud_watch_logging_session=None, activity_store={}
        )

    def _end(self, record: dict[str, Any], status: str, **result: Any) -> None:
        if record["status"] != "RUNNING":
            return  # It was stopped before.
        stamp = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        record.update(result, status=status, stopDate=stamp)
        self._show_history(record)
        publish(record)

    def _show_history(self, record: dict[str, Any]) -> None:
        worker = self.workers.get(record["executionArn"])
        if worker is not None and worker.env is not None:
            record["events"] = [_jsonable(event) for event in worker.env.event_manager.get_event_history()]


class _NoCallback(ExecutionWorkerCommunication):
    """Called when an execution has ended; here its own thread goes on and needs no call."""

    def terminated(self) -> None:
        """Nothing to do."""


def _jsonable(event: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value.timestamp() if isinstance(value, datetime.datetime) else value for key, value in event.items()}
