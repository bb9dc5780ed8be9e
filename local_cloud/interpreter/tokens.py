"""Task tokens: SendTaskSuccess and its like reach the execution that waits."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from moto.stepfunctions.parser.asl.eval.callback.callback import CallbackOutcomeFailure, CallbackOutcomeSuccess

from local_cloud import engines
from local_cloud.interpreter.executions import Executions

MODULE = "ministack.services.stepfunctions"
Tell = Callable[[Any, str, dict[str, Any]], bool]


def install(executions: Executions) -> None:
    """Replaces ministack's, whose tokens are those of its own interpreter."""

    def succeed(pool: Any, token: str, request: dict[str, Any]) -> bool:
        return bool(pool.notify(token, CallbackOutcomeSuccess(callback_id=token, output=request["output"])))

    def fail(pool: Any, token: str, request: dict[str, Any]) -> bool:
        outcome = CallbackOutcomeFailure(callback_id=token, error=request.get("error"), cause=request.get("cause"))
        return bool(pool.notify(token, outcome))

    def beat(pool: Any, token: str, _request: dict[str, Any]) -> bool:
        return bool(pool.heartbeat(token))

    def answering(tell: Tell) -> Callable[[dict[str, Any]], tuple[int, dict[str, str], bytes]]:
        def answer(request: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
            token = request.get("taskToken", "")
            pools = [worker.env.callback_pool_manager for worker in executions.workers.values() if worker.env]
            if any(tell(pool, token, request) for pool in pools):
                return 200, {"Content-Type": "application/x-amz-json-1.0"}, b"{}"
            body = json.dumps({"__type": "TaskDoesNotExist", "message": "Task token not found"})
            return 400, {"Content-Type": "application/x-amz-json-1.0"}, body.encode()

        return answer

    engines.replace(MODULE, "_send_task_success", answering(succeed))
    engines.replace(MODULE, "_send_task_failure", answering(fail))
    engines.replace(MODULE, "_send_task_heartbeat", answering(beat))
