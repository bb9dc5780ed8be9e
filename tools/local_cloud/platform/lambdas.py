"""Lambdas run with this environment's packages, and their exceptions come as AWS reports them."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from tools.local_cloud import engines
from tools.local_cloud.clock import CompressedClock

MODULE = "ministack.services.lambda_svc"
# "Lambda returns the event to the queue and attempts to run the function again for up to 6 hours by default. The retry
# interval increases exponentially from 1 second after the first attempt to a maximum of 5 minutes" (Lambda guide, "How
# Lambda handles errors and retries with asynchronous invocation"). The number of retries of a function that failed is
# another thing: it does not count these.
FIRST_RETRY_SECONDS, LONGEST_RETRY_SECONDS, OLDEST_EVENT_SECONDS = 1.0, 300.0, 6 * 3600.0
RAISED = re.compile(r"^([A-Za-z_][\w.]*)(?::|$)")
FRAME = re.compile(r'^  File "')


Execute = Callable[[dict[str, Any], Any], dict[str, Any]]


def install(clock: CompressedClock) -> None:
    """ministack calls every exception Runtime.HandlerError; the class is taken from the traceback in the log."""
    execute = engines.use(MODULE, "_execute_function_warm")

    def execute_function_warm(function: dict[str, Any], event: Any, request_id: str) -> dict[str, Any]:
        result: dict[str, Any] = execute(function, event, request_id)
        body = result.get("body")
        if result.get("error") and isinstance(body, dict) and body.get("errorType") == "Runtime.HandlerError":
            body.update(error_of(result.get("log") or "", message=body["errorMessage"]), requestId=request_id)
        return result

    engines.replace(MODULE, "_execute_function_warm", execute_function_warm)
    deliver = engines.use(MODULE, "_execute_function_with_config_scope")
    engines.replace(MODULE, "_execute_function_with_config_scope", kept_while_throttled(deliver, clock.sleep))
    # A layer is built for Lambda's processor; here this environment's packages stand in its place.
    engines.replace(MODULE, "_resolve_layer_zip", lambda _layer: None)


def kept_while_throttled(execute: Execute, sleep: Callable[[float], None]) -> Execute:
    """An asynchronous invocation, which ministack would drop."""

    def execute_until_there_is_room(function: dict[str, Any], event: Any) -> dict[str, Any]:
        waited, pause = 0.0, FIRST_RETRY_SECONDS
        while (result := execute(function, event)).get("throttle") and waited < OLDEST_EVENT_SECONDS:
            sleep(pause)
            waited, pause = waited + pause, min(2 * pause, LONGEST_RETRY_SECONDS)
        return result

    return execute_until_there_is_room


def error_of(log: str, *, message: str) -> dict[str, Any]:
    """errorType and stackTrace from the last traceback of a log."""
    _before, found, traceback = log.rpartition("Traceback (most recent call last):\n")
    if not found:
        return {"stackTrace": []}
    lines = traceback.splitlines()
    first_line = message.splitlines()[0] if message else ""
    for number, line in enumerate(lines):
        raised = RAISED.match(line)
        if raised and line.endswith(first_line):
            return {"errorType": raised[1].rpartition(".")[2], "stackTrace": _frames(lines[:number])}
    return {"stackTrace": _frames(lines)}


def _frames(lines: list[str]) -> list[str]:
    starts = [number for number, line in enumerate(lines) if FRAME.match(line)]
    return ["\n".join(lines[start:end]) for start, end in pairwise([*starts, len(lines)])]
