"""The documents that runs leave in S3 and in the log: what this version reads in those of an earlier one."""

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from enum import Enum
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, ValidationError

from belay.contract.certificate import Certificate
from belay.contract.events import AnyEvent, Saved, parse_event
from belay.contract.ledger import Ledger
from belay.contract.plan import RunPlan
from belay.contract.pump_state import PumpState, StreamCursor
from tools.proofs.model import s3
from tools.proofs.model.aws_state import AwsState

_AT = datetime(2026, 11, 21, 2, 45, tzinfo=UTC)
_EVENTS: tuple[type[BaseModel], ...] = get_args(get_args(AnyEvent)[0])
_IN_S3 = {"plan": s3.PREFIX.plan, "ledger": s3.PREFIX.ledger, "certificate": s3.PREFIX.certificate}
READERS: dict[str, Callable[[Any], BaseModel]] = {
    "plan": RunPlan.model_validate,
    "ledger": Ledger.model_validate,
    "certificate": Certificate.model_validate,
    "pump state": PumpState.model_validate,
    "event": parse_event.validate_python,
}


def written(states: Sequence[AwsState]) -> dict[str, list[Any]]:
    """One of each kind, as this version writes it; of events, one of each kind of event."""
    held = {name: [body for aws in states if (body := aws.s3.get(key))] for name, key in _IN_S3.items()}
    found = {name: [json.loads(max(bodies, key=len))] for name, bodies in held.items()}
    ledger = Ledger.model_validate(found["ledger"][0])
    remembered = PumpState(
        run=s3.RUN,
        searched_to=_AT,
        streams={"one": StreamCursor(node=0, attempt=1, read_to=_AT)},
        newest={1: Saved.model_validate_json(s3.saved(1))},
        ledger=ledger,
        ledger_etag="etag",
    )
    events = [json.loads(kind(**_values_of(kind)).model_dump_json(exclude_none=True)) for kind in _EVENTS]
    return found | {"pump state": [json.loads(remembered.model_dump_json())], "event": events}


def _values_of(model: type[BaseModel]) -> dict[str, Any]:
    return {name: _value_of(info.annotation) for name, info in model.model_fields.items() if info.is_required()} | (
        {"at": _AT} if "at" in model.model_fields else {}
    )


def _value_of(annotation: Any) -> Any:
    if get_origin(annotation) is Literal:
        return get_args(annotation)[0]
    if get_origin(annotation) is dict:
        return {"a": 0.5}
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return next(iter(annotation))
    return {str: "text", int: 1, float: 1.5}[annotation]


def unread(kind: str, document: Any) -> Iterator[str]:
    """What this version does not find in the document, or finds changed."""
    try:
        read = json.loads(READERS[kind](document).model_dump_json())
    except ValidationError as error:
        first = error.errors()[0]
        yield f"{kind}: cannot be read: {'.'.join(map(str, first['loc']))}: {first['msg']}"
        return
    yield from _differences(kind, document, read)


def _differences(place: str, there: Any, read: Any) -> Iterator[str]:
    if isinstance(there, dict) and isinstance(read, dict):
        for name, value in there.items():
            if name not in read:
                yield f"{place}.{name}: is not read"
            else:
                yield from _differences(f"{place}.{name}", value, read[name])
    elif isinstance(there, list) and isinstance(read, list) and len(there) == len(read):
        for number, (one, other) in enumerate(zip(there, read, strict=True)):
            yield from _differences(f"{place}.{number}", one, other)
    elif there != read:
        yield f"{place}: is {there!r}, and is read as {read!r}"
