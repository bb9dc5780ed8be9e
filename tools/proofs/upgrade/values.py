"""The states of the model as JSON, so that a later version can go on from them."""

from typing import Any

from tools.proofs.model.aws_state import AwsState, End, Export, FileSystem, Link, Training
from tools.proofs.model.execution import Done, Fault, Frame
from tools.proofs.model.system import System, Teardown
from tools.proofs.model.values import Frozen

_KINDS: dict[str, Any] = {
    one.__name__: one
    for one in (System, Teardown, Frame, Done, Fault, AwsState, FileSystem, Link, Export, Training, End)
}


def to_json(value: Any) -> Any:
    """A named tuple by the names of its fields: one that gets another field with a default can still be read."""
    if type(value).__name__ in _KINDS:
        fields = zip(value._fields, value, strict=True)
        return {"kind": type(value).__name__, **{name: to_json(inner) for name, inner in fields}}
    if isinstance(value, dict):
        return {"object": {key: to_json(inner) for key, inner in value.items()}}
    if isinstance(value, bytes):
        return {"bytes": value.decode()}
    return [to_json(inner) for inner in value] if isinstance(value, tuple) else value


def from_json(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(from_json(inner) for inner in value)
    if not isinstance(value, dict):
        return value
    if "kind" in value:
        fields = {name: from_json(inner) for name, inner in value.items() if name != "kind"}
        return _KINDS[value["kind"]](**fields)
    if "bytes" in value:
        return str(value["bytes"]).encode()
    return Frozen({key: from_json(inner) for key, inner in value["object"].items()})
