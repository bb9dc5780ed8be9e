"""A request compared with botocore's own model of its service: what AWS refuses before an operation runs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import botocore.session
import regex
from botocore.model import ListShape, ServiceModel, Shape, StructureShape

from tools.local_cloud.services.errors import AwsError

_TYPES: dict[str, type[Any]] = {
    "string": str,
    "integer": int,
    "long": int,
    "boolean": bool,
    "structure": dict,
    "list": list,
}


def check_request(service: str, action: str, request: Any, *, error: str) -> None:
    """Refuses a request that the model does not allow, with every violation in one message.

    As FSx words it: "2 validation errors detected: Value null at 'fileSystemType' failed to satisfy constraint: Member
    must not be null; ...", under its own BadRequest (github.com/awsdocs/aws-cloudformation-user-guide/pull/439).
    A member that the model does not have is ignored [?].
    """
    found = list(_violations(request, _model(service).operation_model(action).input_shape, ""))
    if found:
        errors = "error" if len(found) == 1 else "errors"
        raise AwsError(error, f"{len(found)} validation {errors} detected: {'; '.join(found)}")


@cache
def _model(service: str) -> ServiceModel:
    return botocore.session.get_session().get_service_model(service)


def _violations(value: Any, shape: Shape | None, place: str) -> Iterator[str]:
    assert shape is not None
    wanted = _TYPES[shape.type_name]
    if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
        # Of AWS's JSON protocol: a value of another type is not read at all (smithy.io, AWS JSON 1.1 protocol).
        raise AwsError("SerializationException", f"{type(value).__name__} can not be converted to {shape.type_name}")
    if isinstance(shape, StructureShape):
        for name, member in shape.members.items():
            inside = f"{place}.{_lower(name)}".lstrip(".")
            if value.get(name) is not None:
                yield from _violations(value[name], member, inside)
            elif name in shape.required_members:
                yield f"Value null at '{inside}' failed to satisfy constraint: Member must not be null"
        return
    for broken in _broken(value, shape.metadata):
        yield f"Value '{value}' at '{place}' failed to satisfy constraint: Member must {broken}"
    if isinstance(shape, ListShape):
        for number, inner in enumerate(value, start=1):
            yield from _violations(inner, shape.member, f"{place}.{number}.member")


def _broken(value: Any, allowed: dict[str, Any]) -> Iterator[str]:
    size, measure = (value, "value") if isinstance(value, int) else (len(value), "length")
    if "max" in allowed and size > allowed["max"]:
        yield f"have {measure} less than or equal to {allowed['max']}"
    if "min" in allowed and size < allowed["min"]:
        yield f"have {measure} greater than or equal to {allowed['min']}"
    if "pattern" in allowed and not regex.fullmatch(allowed["pattern"], value):
        yield f"satisfy regular expression pattern: {allowed['pattern']}"
    if "enum" in allowed and value not in allowed["enum"]:
        yield f"satisfy enum value set: [{', '.join(allowed['enum'])}]"


def _lower(name: str) -> str:
    return name[0].lower() + name[1:]
