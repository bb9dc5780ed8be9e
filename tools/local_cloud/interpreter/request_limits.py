"""Requests to Step Functions are held against botocore's model before anything else, as AWS does.

The words of each constraint were recorded on AWS by localstack's tests (test_sfn_api: statusFilter, maxResults,
nextToken) and by users (input: "Member must have size less than or equal to 262144 bytes in UTF-8 encoding").
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import botocore.session
from botocore.model import ServiceModel, Shape

from tools.local_cloud import engines
from tools.local_cloud.platform.handlers import Handler, Operation, Response, answer
from tools.local_cloud.services.errors import refuse

SERVICE = "states"
# "Length constraints apply to the payload size, and are expressed as bytes in UTF-8 encoding" (botocore's model).
COUNTED_IN_BYTES = ("SensitiveData", "SensitiveDataJobInput")


def install(more: dict[str, Operation]) -> None:
    """Checks every request; `more` are operations that ministack does not know."""
    handlers: dict[str, Handler] = engines.use("ministack.app", "SERVICE_HANDLERS")
    handle = handlers[SERVICE]

    async def handle_valid(method: str, path: str, headers: dict[str, str], body: bytes, query: Any) -> Response:
        action = headers.get("x-amz-target", "").rpartition(".")[2]
        try:
            request = json.loads(body or b"{}")
        except ValueError:
            return await handle(method, path, headers, body, query)
        if found := faults(action, request):
            plural = "s" if len(found) > 1 else ""
            message = f"{len(found)} validation error{plural} detected: {'; '.join(found)}"
            return answer(lambda: refuse("ValidationException", message))
        if action in more:
            return answer(lambda: more[action](request))
        return await handle(method, path, headers, body, query)

    handlers[SERVICE] = handle_valid


def faults(action: str, request: dict[str, Any]) -> list[str]:
    """One sentence for each constraint that the request breaks; none for an action that the model does not have."""
    if action not in _model().operation_names:
        return []
    shape = _model().operation_model(action).input_shape
    if shape is None:
        return []
    found = []
    for name, member in shape.members.items():
        value = request.get(name)
        shown = "Value" if member.metadata.get("sensitive") else "Value null" if value is None else f"Value '{value}'"
        broken = ["not be null"] if value is None and name in shape.required_members else _broken(value, member)
        found += [f"{shown} at '{name}' failed to satisfy constraint: Member must {rule}" for rule in broken]
    return found


def _broken(value: Any, shape: Shape) -> Iterator[str]:
    limits = shape.metadata
    least, most = limits.get("min"), limits.get("max")
    if isinstance(value, str):
        if shape.name in COUNTED_IN_BYTES:
            if most is not None and len(value.encode()) > most:
                yield f"have size less than or equal to {most} bytes in UTF-8 encoding"
            return
        if limits.get("enum") and value not in limits["enum"]:
            yield f"satisfy enum value set: [{', '.join(limits['enum'])}]"
        kind, size = "length", len(value)
    elif isinstance(value, int) and not isinstance(value, bool):
        kind, size = "value", value
    else:
        return
    if least is not None and size < least:
        yield f"have {kind} greater than or equal to {least}"
    if most is not None and size > most:
        yield f"have {kind} less than or equal to {most}"


@cache
def _model() -> ServiceModel:
    return botocore.session.get_session().get_service_model("stepfunctions")
