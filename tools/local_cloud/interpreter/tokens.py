"""Task tokens: SendTaskSuccess, SendTaskFailure and SendTaskHeartbeat reach the waiting execution, once."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from moto.stepfunctions.parser.asl.component.common.error_name.custom_error_name import CustomErrorName
from moto.stepfunctions.parser.asl.component.common.error_name.failure_event import FailureEvent
from moto.stepfunctions.parser.asl.eval.callback.callback import (
    CallbackConsumerLeft,
    CallbackOutcomeFailure,
    CallbackOutcomeSuccess,
    HeartbeatTimeoutError,
)

from tools.local_cloud import engines
from tools.local_cloud.interpreter.errors import HEARTBEAT
from tools.local_cloud.interpreter.executions import Executions
from tools.local_cloud.platform.handlers import answer
from tools.local_cloud.services.errors import AwsError

MODULE = "ministack.services.stepfunctions"
CALLBACK = f"{engines.ASL}.eval.callback.callback"
STATE = f"{engines.COMPONENT}.state.exec.execute_state"
TASK = f"{engines.TASK}.state_task_service_callback"
Send = Callable[[Any, dict[str, Any]], Any]


def install(executions: Executions) -> None:
    """Replaces ministack's, which knows only tokens of its own interpreter."""

    def sending(send: Send) -> Callable[[dict[str, Any]], Any]:
        def sent(request: dict[str, Any]) -> dict[str, Any]:
            send(_waiting_for(executions, request["taskToken"]), request)
            return {}

        return lambda request: answer(lambda: sent(request))

    engines.replace(MODULE, "_send_task_success", sending(_succeed))
    engines.replace(MODULE, "_send_task_failure", sending(_fail))
    engines.replace(MODULE, "_send_task_heartbeat", sending(_beat))
    _one_token_for_each_attempt()
    _name_missed_heartbeats()


def _succeed(endpoint: Any, request: dict[str, Any]) -> None:
    try:
        json.loads(request["output"])
    except ValueError as error:
        # API_SendTaskSuccess, InvalidOutput; the words are [?].
        raise AwsError("InvalidOutput", f"Invalid Output: '{error}'") from error
    endpoint.notify(CallbackOutcomeSuccess(callback_id=request["taskToken"], output=request["output"]))


def _fail(endpoint: Any, request: dict[str, Any]) -> None:
    error, cause = request.get("error"), request.get("cause")
    endpoint.notify(CallbackOutcomeFailure(callback_id=request["taskToken"], error=error, cause=cause))


def _beat(endpoint: Any, _request: dict[str, Any]) -> None:
    endpoint.notify_heartbeat()


def _waiting_for(executions: Executions, token: str) -> Any:
    """What waits for the token. A used one is refused: "the task associated with the token has already been closed".

    API_SendTaskSuccess, TaskTimedOut. Its words are those that users of AWS see; those of InvalidToken were recorded
    on AWS by localstack (test_aws_sdk_task_service).
    """
    for worker in list(executions.workers.values()):
        endpoint = worker.env.callback_pool_manager.get(token) if worker.env else None
        if worker.env is None or endpoint is None:
            continue
        if endpoint.get_outcome() or endpoint.consumer_error or not worker.env.is_running():
            raise AwsError("TaskTimedOut", "Task Timed Out: 'Provided task does not exist anymore'")
        return endpoint
    raise AwsError("InvalidToken", "Invalid Token: 'Invalid token'")


def _one_token_for_each_attempt() -> None:
    """A state that has ended, also by a time-out, no longer waits for its token; a retry has a new one."""
    interrupt = engines.use(CALLBACK, "CallbackEndpoint.interrupt_all")
    evaluate = engines.use(STATE, "ExecutionState._evaluate_with_timeout")

    def interrupt_all(self: Any) -> None:
        self.report(CallbackConsumerLeft())
        interrupt(self)

    def attempt(self: Any, env: Any) -> None:
        context, pool = env.states.context_object, env.callback_pool_manager
        task = context.context_object_data.get("Task")
        endpoint = pool.get(task["Token"]) if task else None
        if endpoint is not None and endpoint.consumer_error:
            endpoint = pool.add(context.update_task_token())
        try:
            evaluate(self, env)
        finally:
            if endpoint is not None:
                endpoint.interrupt_all()

    engines.replace(CALLBACK, "CallbackEndpoint.interrupt_all", interrupt_all)
    engines.replace(STATE, "ExecutionState._evaluate_with_timeout", attempt)


def _name_missed_heartbeats() -> None:
    """Retry and Catch may name States.HeartbeatTimeout or States.Timeout (developer guide, "Handling errors").

    The event and the execution say States.Timeout, as recorded on AWS by localstack (test_heartbeats).
    """
    from_error = engines.use(TASK, "StateTaskServiceCallback._from_error")

    def named(self: Any, env: Any, ex: Exception) -> FailureEvent:
        failure: FailureEvent = from_error(self, env=env, ex=ex)
        if not isinstance(ex, HeartbeatTimeoutError):
            return failure
        return FailureEvent(env, CustomErrorName(HEARTBEAT), failure.event_type, failure.event_details)

    engines.replace(TASK, "StateTaskServiceCallback._from_error", named)
