"""The control endpoint, on the same address as the services: faults, the calls that roles made, task metadata."""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable
from typing import Any

from tools.local_cloud.faults import Fault, FaultRegistry
from tools.local_cloud.recorded_calls import CallRecorder
from tools.local_cloud.services.ecs.launch import METADATA

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
App = Callable[[dict[str, Any], Receive, Send], Awaitable[None]]
Metadata = Callable[[str], dict[str, Any] | None]
FAULTS = "/_belay/faults"
READY = "/_belay/ready"
CALLS = "/_belay/calls"


def with_control(app: App, faults: FaultRegistry, calls: CallRecorder, metadata: Metadata) -> App:
    """ministack, with the paths of this module in front of it."""

    async def serve(scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] in (FAULTS, READY, CALLS):
            await _reply(send, *_control(scope, await _body(receive), faults, calls))
            return
        if scope["type"] == "http" and scope["path"].startswith(METADATA):
            found = metadata(scope["path"].removeprefix(METADATA).removesuffix("/taskWithTags"))
            await _reply(send, *((404, {}) if found is None else (200, found)))
            return
        # The policies of the buckets demand TLS; plain http on loopback counts as that.
        await app({**scope, "scheme": "https"} if scope["type"] == "http" else scope, receive, send)

    return serve


def _control(scope: dict[str, Any], body: bytes, faults: FaultRegistry, calls: CallRecorder) -> tuple[int, Any]:
    if scope["path"] == READY:
        return 200, {"process_id": os.getpid()}
    if scope["path"] == CALLS:
        return 200, calls.recorded()
    match scope["method"]:
        case "GET":
            return 200, [fault.to_json() for fault in faults.waiting()]
        case "DELETE":
            faults.clear(json.loads(body) if body else None)
            return 200, []
        case "POST":
            try:
                fault = Fault.from_json(json.loads(body))
            except (TypeError, ValueError) as error:
                return 400, {"message": str(error)}
            faults.add(fault)
            return 200, fault.to_json()
    return 405, {"message": f"{scope['method']} is not for {FAULTS}"}


async def _body(receive: Receive) -> bytes:
    parts = []
    while True:
        message = await receive()
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)


async def _reply(send: Send, status: int, value: Any) -> None:
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(value).encode()})
