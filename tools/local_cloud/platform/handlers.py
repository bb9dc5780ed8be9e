"""Adds our services to ministack's, and faults and rates in front of all of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, NoReturn

from tools.local_cloud import engines
from tools.local_cloud.clients import is_our_own
from tools.local_cloud.faults import ApiError, FaultRegistry
from tools.local_cloud.services.errors import AwsError, not_supported
from tools.local_cloud.services.throttling import Throttles

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


def add_refusals(faults: FaultRegistry, throttles: Throttles) -> None:
    """Every service looks for a fault, and whether it is called too often, before it runs an allowed operation."""
    handlers: dict[str, Handler] = engines.use("ministack.app", "SERVICE_HANDLERS")
    for service, handler in list(handlers.items()):
        handlers[service] = _with_refusals(service, handler, faults, throttles)


def _with_refusals(service: str, handler: Handler, faults: FaultRegistry, throttles: Throttles) -> Handler:
    from ministack.core.iam_actions import extract_iam_action

    denied = engines.use("ministack.core.iam_actions", "access_denied_response")

    async def handle(method: str, path: str, headers: dict[str, str], body: bytes, query: dict[str, Any]) -> Response:
        name = extract_iam_action(service, method, path, headers, body, query) or ""
        if refusal := _fault(name, faults) or (None if is_our_own(headers) else throttles.take(name)):
            error = {"error_code": refusal.error, "message": refusal.message, "headers": headers}
            _status, response_headers, response_body = denied(service, name, "", "local-refusal", **error)
            return refusal.status, response_headers, response_body
        return await handler(method, path, headers, body, query)

    return handle


def _fault(name: str, faults: FaultRegistry) -> ApiError | None:
    if not faults.waiting():
        return None
    namespace, _, action = name.partition(":")
    return faults.take(ApiError, {}, when=lambda one: one.service == namespace and one.action in (action, "*"))
