"""Adds our services to ministack's, and faults in front of all of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, NoReturn

from tools.local_cloud import engines
from tools.local_cloud.faults import ApiError, FaultRegistry
from tools.local_cloud.services.errors import AwsError, not_supported

Response = tuple[int, dict[str, str], Any]
Handler = Callable[[str, str, dict[str, str], bytes, dict[str, Any]], Awaitable[Response]]
Operation = Callable[[dict[str, Any]], dict[str, Any]]
JSON = {"Content-Type": "application/x-amz-json-1.1"}


def answer(operation: Callable[[], dict[str, Any]]) -> Response:
    """Runs one of our operations; its answer or error in AWS's JSON protocol."""
    try:
        return 200, dict(JSON), json.dumps(operation()).encode()
    except AwsError as error:
        body = json.dumps({"__type": error.code, "message": error.message, "Message": error.message})
        return error.status, {**JSON, "x-amzn-errortype": error.code}, body.encode()


def checked(check: Callable[[dict[str, Any]], None], handle: Callable[[dict[str, Any]], Any]) -> Callable[..., Any]:
    """The handler, for requests that `check` raises no AwsError for."""

    def checked_handler(request: dict[str, Any]) -> Any:
        try:
            check(request)
        except AwsError as error:
            return answer(partial(_raise, error))
        return handle(request)

    return checked_handler


def _raise(error: AwsError) -> NoReturn:
    raise error


def add_json_service(name: str, *, target_prefix: str, operations: Mapping[str, Operation]) -> None:
    """Adds a service of ours with the JSON protocol. `name`: that of its endpoint, and of its actions in IAM."""

    async def handle(method: str, path: str, headers: dict[str, str], body: bytes, query: dict[str, Any]) -> Response:
        action = headers.get("x-amz-target", "").rpartition(".")[2]
        request = json.loads(body or b"{}")
        operation = operations.get(action)
        if operation is None:
            return answer(lambda: not_supported(f"{name}:{action}"))
        return await asyncio.to_thread(answer, lambda: operation(request))

    engines.use("ministack.app", "SERVICE_HANDLERS")[name] = handle
    engines.use("ministack.core.router", "SERVICE_PATTERNS")[name] = {
        "target_prefixes": [target_prefix],
        "host_patterns": [rf"{name}\."],
    }
    engines.use("ministack.core.iam_actions", "SERVICE_TO_IAM_NAMESPACE")[name] = name


def add_faults(faults: FaultRegistry) -> None:
    """Every service looks for a fault before it runs an allowed operation."""
    handlers: dict[str, Handler] = engines.use("ministack.app", "SERVICE_HANDLERS")
    for service, handler in list(handlers.items()):
        handlers[service] = _with_faults(service, handler, faults)


def _with_faults(service: str, handler: Handler, faults: FaultRegistry) -> Handler:
    from ministack.core.iam_actions import extract_iam_action

    denied = engines.use("ministack.core.iam_actions", "access_denied_response")

    async def handle(method: str, path: str, headers: dict[str, str], body: bytes, query: dict[str, Any]) -> Response:
        if faults.waiting():
            name = extract_iam_action(service, method, path, headers, body, query) or ""
            namespace, _, action = name.partition(":")

            def is_asked(one: ApiError) -> bool:
                return one.service == namespace and one.action in (action, "*")

            if fault := faults.take(ApiError, {}, when=is_asked):
                error = {"error_code": fault.error, "message": fault.message, "headers": headers}
                _status, response_headers, response_body = denied(service, name, "", "local-fault", **error)
                return fault.status, response_headers, response_body
        return await handler(method, path, headers, body, query)

    return handle
