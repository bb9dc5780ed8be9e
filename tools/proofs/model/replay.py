"""Replays recorded executions in the local cloud's interpreter, with the recorded answers."""

import copy
import datetime
import json
import threading
import time
from functools import cache
from typing import Any

from moto.stepfunctions.parser.api import HistoryEventType, StateMachineType, TaskFailedEventDetails
from moto.stepfunctions.parser.asl.component.common.error_name.custom_error_name import CustomErrorName
from moto.stepfunctions.parser.asl.component.common.error_name.failure_event import FailureEvent, FailureEventException
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service.state_task_service import StateTaskService
from moto.stepfunctions.parser.asl.eval.environment import Environment
from moto.stepfunctions.parser.asl.eval.evaluation_details import AWSExecutionDetails
from moto.stepfunctions.parser.asl.eval.event.event_detail import EventDetails
from moto.stepfunctions.parser.asl.eval.event.event_manager import EventHistoryContext
from moto.stepfunctions.parser.asl.eval.program_state import ProgramEnded, ProgramError
from moto.stepfunctions.parser.asl.eval.states import ContextObjectData, ExecutionData, StateMachineData
from moto.stepfunctions.parser.asl.parse.asl_parser import AmazonStateLanguageParser

from tools.definitions.asl import scopes
from tools.local_cloud.clock import CompressedClock
from tools.local_cloud.interpreter import errors, expressions, sync_tasks, waiting
from tools.local_cloud.interpreter.sync_tasks import Interrupted
from tools.proofs.model import s3
from tools.proofs.model.execution import Fault, Waiting
from tools.proofs.model.recording import Execution, RecordedAnswer
from tools.proofs.model.values import thaw

# A branch waits this long for its turn; a call that is not due by then is a difference.
TURN_SECONDS = 5
_ROLE = f"arn:aws:iam::{s3.ACCOUNT}:role/any"
# The model has no clock; the interpreter puts real times here.
_DEPENDS_ON_CLOCK = "BELAY_ATTEMPT_BEGAN"
_SCRIPT = "script"


class Replayer:
    """One definition after the other, each parsed once."""

    def __init__(self, definitions: dict[str, Any]) -> None:
        _install()
        self._definitions = definitions
        self._programs = {
            name: AmazonStateLanguageParser.parse(json.dumps(one))[0] for name, one in definitions.items()
        }

    def replay(self, execution: Execution) -> str | None:
        """The first difference from the recording, or None."""
        script = _Script(execution, self._definitions[execution.machine])
        env = script.env = _environment(execution, script)
        thread = threading.Thread(target=_run, args=(self._programs[execution.machine], env), daemon=True)
        thread.start()
        # After a stop between two states of a Parallel, the interpreter's threads may wait for each other forever.
        while thread.is_alive() and (env.program_state() is None or env.is_running()):
            thread.join(0.005)
        return script.difference or _difference_of_ends(execution, env)


def _run(program: Any, env: Any) -> None:
    try:
        program.eval(env)
    except RuntimeError:
        # A stop between two states: the interpreter has no next state.
        if env.is_running():
            raise


class _Script:
    """Answers the calls of one execution in the recorded order, from whichever branch they come."""

    def __init__(self, execution: Execution, definition: Any) -> None:
        self._left = list(execution.answers)
        self._stops = execution.end is None
        self._turn = threading.Condition()
        self._lasting: dict[str, Fault] = {}
        self._scope_of = {name: number for number, scope in enumerate(scopes(definition)) for name in scope.states}
        self.difference: str | None = None
        self.env: Any = None

    def answer(self, task: Any, frame: Any, arguments: Any) -> Any:
        """Called on the interpreter's thread; blocks until it is this state's turn."""
        state = task.name
        with self._turn:
            lasting = self._lasting.get(state)
            if lasting is not None and not (self._left and self._left[0].state == state):
                raise _failure(task, frame, lasting)
            recorded = self._next(state, frame, is_call=True)
            self._compare(recorded, arguments)
            if isinstance(recorded.result, Waiting):
                recorded = self._next(state, frame, is_call=False)
            if isinstance(recorded.result, Fault):
                if recorded.result.lasts:
                    self._lasting[state] = recorded.result
                raise _failure(task, frame, recorded.result)
        return copy.deepcopy(thaw(recorded.result))

    def _next(self, state: str, frame: Any, *, is_call: bool) -> RecordedAnswer:
        until = time.monotonic() + TURN_SECONDS
        while self.env.is_running() and frame.is_running():
            if not self._left and self._stops:
                self._stop()
            elif self._left and (self._left[0].arguments is not None) == is_call and self._left[0].state in (state, ""):
                self._lasting = {one: fault for one, fault in self._lasting.items() if not self._is_past(one, state)}
                self._turn.notify_all()
                return self._left.pop(0)
            elif time.monotonic() > until:
                self._give_up(f"{state} calls, but {self._due()} is due")
            else:
                # With nothing left, another branch may be about to end the execution.
                self._turn.wait(0.02)
        raise Interrupted

    def _is_past(self, earlier: str, now: str) -> bool:
        """Whether `earlier` cannot be retried any more, now that `now` is answered."""
        return self._scope_of[now] in (0, self._scope_of[earlier])

    def _due(self) -> str:
        if not self._left:
            return "nothing more"
        return self._left[0].state or "the end of the .sync task"

    def _give_up(self, why: str) -> None:
        self.difference = self.difference or why
        self._stop()

    def _stop(self) -> None:
        self.env.set_stop(stop_date=datetime.datetime.now(datetime.UTC), cause=None, error=None)

    def _compare(self, recorded: RecordedAnswer, arguments: Any) -> None:
        asked, expected = _without_clock(arguments), _without_clock(recorded.arguments)
        if asked != expected and self.difference is None:
            self.difference = f"{recorded.state} calls with {json.dumps(asked)}, recorded is {json.dumps(expected)}"


def _without_clock(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_clock(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [
            _without_clock(one) for one in value if not (isinstance(one, dict) and one.get("Name") == _DEPENDS_ON_CLOCK)
        ]
    return value


def _difference_of_ends(execution: Execution, env: Any) -> str | None:
    state = env.program_state()
    if execution.end is None:
        return None
    match state:
        case ProgramEnded():
            found = ["SUCCEEDED", env.states.get_input()]
        case ProgramError():
            failed = state.error or {}
            found = ["FAILED", failed.get("error"), failed.get("cause") or None]
        case _:
            found = [type(state).__name__]
    end = execution.end
    result = [thaw(end.output)] if end.status == "SUCCEEDED" else [end.error, end.cause or None]
    expected = json.loads(json.dumps([end.status, *result]))
    return None if found == expected else f"ends with {json.dumps(found)}, recorded is {json.dumps(expected)}"


def _failure(task: Any, env: Any, fault: Fault) -> FailureEventException:
    details = TaskFailedEventDetails(
        resource=task._get_sfn_resource(),
        resourceType=task._get_sfn_resource_type(),
        error=fault.error,
        **({} if fault.cause is None else {"cause": fault.cause}),
    )
    event = FailureEvent(
        env=env,
        error_name=CustomErrorName(fault.error),
        event_type=HistoryEventType.TaskFailed,
        event_details=EventDetails(taskFailedEventDetails=details),  # type: ignore[typeddict-item]
    )
    return FailureEventException(failure_event=event)


def _environment(execution: Execution, script: _Script) -> Environment:
    return Environment(
        aws_execution_details=AWSExecutionDetails(account=s3.ACCOUNT, region="us-east-1", role_arn=_ROLE),
        execution_type=StateMachineType.STANDARD,
        context=ContextObjectData(  # type: ignore[typeddict-item]
            Execution=ExecutionData(
                Id=execution.arn,
                Input=copy.deepcopy(execution.input),
                Name=execution.name,
                RoleArn=_ROLE,
                StartTime=s3.STARTED_AT.isoformat(),
            ),
            StateMachine=StateMachineData(Id="arn", Name=execution.machine),
        ),
        event_history_context=EventHistoryContext.of_program_start(),
        cloud_watch_logging_session=None,
        # The interpreter passes this to every branch.
        activity_store={_SCRIPT: script},  # type: ignore[dict-item]
    )


@cache
def _install() -> None:
    """The interpreter as in the local cloud, with answers from the script in place of calls."""
    expressions.install()
    errors.install()
    sync_tasks.install()
    # Waits and retry intervals take no time.
    waiting.install(CompressedClock(time_scale=1e12))

    def evaluate(self: Any, env: Any) -> None:
        self.resource.eval(env=env)
        env.stack.pop()
        arguments = self._eval_parameters(env=env)
        env.stack.append(env.activity_store[_SCRIPT].answer(self, env, arguments))

    StateTaskService._eval_execution = evaluate  # type: ignore[method-assign]
