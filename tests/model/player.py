"""The local cloud's interpreter in this process, fed with answers that were written down."""

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

from local_cloud.clock import CompressedClock
from local_cloud.interpreter import errors, expressions, sync_tasks, waiting
from local_cloud.interpreter.sync_tasks import Interrupted
from tests.model import s3
from tests.model.recorded import Execution, Said
from tests.model.standing import Fault, Waiting
from tests.model.values import thaw
from tests.support.asl import scopes

# A branch waits this long for its turn. Whoever is not asked by then is not asked at all: that is a difference.
PATIENCE_SECONDS = 5
_ROLE = f"arn:aws:iam::{s3.ACCOUNT}:role/any"
# Without a clock the model enters every state at once; a real interpreter says when it did.
_OF_THE_CLOCK = "BELAY_ATTEMPT_BEGAN"
_SCRIPT = "script"


class Player:
    """One definition after the other, each parsed once."""

    def __init__(self, definitions: dict[str, Any]) -> None:
        _install()
        self._definitions = definitions
        self._programs = {
            name: AmazonStateLanguageParser.parse(json.dumps(one))[0] for name, one in definitions.items()
        }

    def play(self, execution: Execution) -> str | None:
        """What differs from what was written down, if anything does."""
        script = _Script(execution, self._definitions[execution.machine])
        env = script.env = _environment(execution, script)
        thread = threading.Thread(target=_run, args=(self._programs[execution.machine], env), daemon=True)
        thread.start()
        # Stopped between two states of a Parallel, the interpreter's own threads may wait for each other for ever.
        while thread.is_alive() and (env.program_state() is None or env.is_running()):
            thread.join(0.005)
        return script.difference or _difference_of_ends(execution, env)


def _run(program: Any, env: Any) -> None:
    try:
        program.eval(env)
    except RuntimeError:
        # A stop between two states: the interpreter finds nowhere to go on.
        if env.is_running():
            raise


class _Script:
    """Answers the calls of one execution in the order that was written down, whichever branch they come from."""

    def __init__(self, execution: Execution, definition: Any) -> None:
        self._left = list(execution.said)
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
            said = self._next(state, frame, is_call=True)
            self._compare(said, arguments)
            if isinstance(said.result, Waiting):
                said = self._next(state, frame, is_call=False)
            if isinstance(said.result, Fault):
                if said.result.lasts:
                    self._lasting[state] = said.result
                raise _failure(task, frame, said.result)
        return copy.deepcopy(thaw(said.result))

    def _next(self, state: str, frame: Any, *, is_call: bool) -> Said:
        until = time.monotonic() + PATIENCE_SECONDS
        while self.env.is_running() and frame.is_running():
            if not self._left and self._stops:
                self._stop()
            elif self._left and (self._left[0].arguments is not None) == is_call and self._left[0].state in (state, ""):
                self._lasting = {one: fault for one, fault in self._lasting.items() if not self._is_past(one, state)}
                self._turn.notify_all()
                return self._left.pop(0)
            elif time.monotonic() > until:
                self._give_up(f"{state} asks, and it should be {self._due()}")
            else:
                # With nothing left, another branch may be about to end them all.
                self._turn.wait(0.02)
        raise Interrupted

    def _is_past(self, earlier: str, now: str) -> bool:
        """Whether nobody can still be repeating `earlier`, now that `now` is answered."""
        return self._scope_of[now] in (0, self._scope_of[earlier])

    def _due(self) -> str:
        if not self._left:
            return "nobody any more"
        return self._left[0].state or "the end of what was awaited"

    def _give_up(self, why: str) -> None:
        self.difference = self.difference or why
        self._stop()

    def _stop(self) -> None:
        self.env.set_stop(stop_date=datetime.datetime.now(datetime.UTC), cause=None, error=None)

    def _compare(self, said: Said, arguments: Any) -> None:
        asked, expected = _without_clock(arguments), _without_clock(said.arguments)
        if asked != expected and self.difference is None:
            self.difference = f"{said.state} asks with {json.dumps(asked)}, and it should be {json.dumps(expected)}"


def _without_clock(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_clock(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [
            _without_clock(one) for one in value if not (isinstance(one, dict) and one.get("Name") == _OF_THE_CLOCK)
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
    told = [thaw(end.output)] if end.status == "SUCCEEDED" else [end.error, end.cause or None]
    expected = json.loads(json.dumps([end.status, *told]))
    return None if found == expected else f"ends with {json.dumps(found)}, and it should be {json.dumps(expected)}"


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
        # Carried along into every branch.
        activity_store={_SCRIPT: script},  # type: ignore[dict-item]
    )


@cache
def _install() -> None:
    """The interpreter as the local cloud has it, with answers from the script in place of calls."""
    expressions.install()
    errors.install()
    sync_tasks.install()
    # Waits and the intervals of retries take no time at all.
    waiting.install(CompressedClock(time_scale=1e12))

    def evaluate(self: Any, env: Any) -> None:
        self.resource.eval(env=env)
        env.stack.pop()
        arguments = self._eval_parameters(env=env)
        env.stack.append(env.activity_store[_SCRIPT].answer(self, env, arguments))

    StateTaskService._eval_execution = evaluate  # type: ignore[method-assign]
