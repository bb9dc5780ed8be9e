"""Rules: every integration calls a real API, with valid parameters, and names only errors that this API has."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import botocore.session

from belay.policy.ecs_words import RUN_TASK_TRANSIENT
from stacks.flows.aws_errors import LAMBDA_AWAY, START_EXECUTION_TRANSIENT
from tools.definitions.asl import Json, is_expression, tasks
from tools.repository import REPOSITORY

# Service integrations with an optimized form, as we use them: botocore's service and operation.
_OPTIMIZED = {
    "lambda:invoke": ("lambda", "Invoke"),
    "ecs:runTask.sync": ("ecs", "RunTask"),
    "states:startExecution.sync:2": ("stepfunctions", "StartExecution"),
}
# The prefixes of error names in Step Functions.
_ERROR_PREFIXES = {"fsx": "FSx", "ecs": "Ecs", "sns": "Sns", "sfn": "Sfn"}
_BOTOCORE_NAMES = {"sfn": "stepfunctions"}
# The optimized integrations take any JSON here, where the API takes text or bytes of it.
_ANY_JSON = {("lambda", "Invoke", "Payload"), ("stepfunctions", "StartExecution", "Input")}
_SDK_CALL = re.compile(r"(?P<call>arn:[^:]+:states:::aws-sdk:(?P<service>[a-z0-9]+):[A-Za-z0-9]+)(\.waitForTaskToken)?")
_OF_STEP_FUNCTIONS = {
    "States.ALL",
    "States.HeartbeatTimeout",
    "States.Permissions",
    "States.QueryEvaluationError",
    "States.TaskFailed",
    "States.Timeout",
}
_PYTHON_TYPES: dict[str, type | tuple[type, ...]] = {
    "boolean": bool,
    "double": (int, float),
    "float": (int, float),
    "integer": int,
    "list": list,
    "long": int,
    "map": dict,
    "string": str,
    "structure": dict,
}


def wrong_calls(definition: Json) -> list[str]:
    return [f"{name}: {fault}" for name, state in tasks(definition).items() for fault in _faults_of_call(state)]


def unknown_errors(definition: Json) -> list[str]:
    """Errors that this call cannot give: a Catch for one catches nothing."""
    return [
        f"{name}: {error} is not an error of {state['Resource']}"
        for name, state in tasks(definition).items()
        for rule in (*state.get("Retry", []), *state.get("Catch", []))
        for error in rule["ErrorEquals"]
        if error not in _OF_STEP_FUNCTIONS and error not in _errors_of(state["Resource"])
    ]


def is_recognized(resource: str) -> bool:
    """Whether this call of the SDK is an API; of services that we never call, nothing is known."""
    match = _SDK_CALL.fullmatch(resource)
    return not match or match["service"] not in _ERROR_PREFIXES or _operation(match["call"]) is not None


def unsupported_parameters(resource: str, arguments: Any) -> Iterator[tuple[str, str]]:
    """Parameters that Step Functions does not know, with the places where they stand: `/Overrides`."""
    match = _SDK_CALL.fullmatch(resource)
    operation = _operation(match["call"] if match else resource)
    if operation is not None:
        yield from _unsupported(arguments, operation.input_shape, "Arguments", _any_json(operation))


def _unsupported(value: Any, shape: Any, path: str, any_json: set[str]) -> Iterator[tuple[str, str]]:
    if path in any_json:
        return
    if shape.type_name == "structure" and isinstance(value, dict):
        # Some names Step Functions spells in another way than the API (SnsTopicArn): only the first letter is certain.
        members = {name.lower(): member for name, member in shape.members.items()}
        for key, inner in value.items():
            name = key.removesuffix(".$")
            if name[:1].islower() or name.lower() not in members:
                yield path.removeprefix("Arguments").replace(".", "/"), name
            else:
                yield from _unsupported(inner, members[name.lower()], f"{path}.{name}", any_json)
    elif shape.type_name == "list" and isinstance(value, list):
        for number, item in enumerate(value):
            yield from _unsupported(item, shape.member, f"{path}[{number}]", any_json)


def _faults_of_call(state: Json) -> Iterator[str]:
    operation = _operation(state["Resource"])
    if operation is None:
        yield f"{state['Resource']} is not an API"
    else:
        yield from _faults(state.get("Arguments", {}), operation.input_shape, "Arguments", _any_json(operation))


def _faults(value: Any, shape: Any, path: str, any_json: set[str]) -> Iterator[str]:
    if is_expression(value) or path in any_json:
        return
    wanted = _PYTHON_TYPES.get(shape.type_name)
    if wanted and (not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool)):
        yield f"{path}: {value!r} is not of type {shape.type_name}"
    elif shape.type_name == "structure":
        yield from _faults_of_structure(value, shape, path, any_json)
    elif shape.type_name == "list":
        for item in value:
            yield from _faults(item, shape.member, f"{path}[]", any_json)
    elif shape.type_name == "string":
        yield from _faults_of_text(value, shape, path)


def _faults_of_structure(value: Json, shape: Any, path: str, any_json: set[str]) -> Iterator[str]:
    # Step Functions writes every parameter with a capital, whatever the API does.
    members = {name[0].upper() + name[1:]: name for name in shape.members}
    for key, inner in value.items():
        if key in members:
            yield from _faults(inner, shape.members[members[key]], f"{path}.{key}", any_json)
        else:
            yield f"{path}: no parameter {key}"
    for name, original in members.items():
        if original in shape.required_members and name not in value:
            yield f"{path}: {name} is required"


def _faults_of_text(value: str, shape: Any, path: str) -> Iterator[str]:
    if value.startswith("<"):
        return  # An id that AWS will choose.
    limits = shape.metadata
    if limits.get("enum") and value not in limits["enum"]:
        yield f"{path}: {value!r} is not one of {limits['enum']}"
    if not limits.get("min", 0) <= len(value) <= limits.get("max", len(value)):
        yield f"{path}: {value!r} is too long or too short"
    # Some patterns are Java's and not Python's: these are skipped.
    pattern = limits.get("pattern")
    if pattern and "\\p{" not in pattern and not re.search(pattern, value):
        yield f"{path}: {value!r} does not match {pattern}"


def _operation(resource: str) -> Any:
    _, _, called = resource.partition(":::")
    if called in _OPTIMIZED:
        service, name = _OPTIMIZED[called]
        return _service(service).operation_model(name)
    match = re.fullmatch(r"aws-sdk:([a-z0-9]+):([a-z][A-Za-z0-9]+)", called)
    if not match or match[1] not in _ERROR_PREFIXES:
        return None
    name = match[2][0].upper() + match[2][1:]
    model = _service(_BOTOCORE_NAMES.get(match[1], match[1]))
    return model.operation_model(name) if name in model.operation_names else None


def _any_json(operation: Any) -> set[str]:
    here = (operation.service_model.service_name, operation.name)
    return {f"Arguments.{name}" for service, action, name in _ANY_JSON if (service, action) == here}


def _errors_of(resource: str) -> set[str]:
    if resource.endswith("lambda:invoke"):
        return _raised_by_lambdas() | set(LAMBDA_AWAY)
    if resource.endswith("ecs:runTask.sync"):
        return set(RUN_TASK_TRANSIENT)
    if "states:startExecution" in resource:
        return set(START_EXECUTION_TRANSIENT)
    match = re.fullmatch(r".*:::aws-sdk:([a-z0-9]+):.*", resource)
    operation = _operation(resource)
    if not match or operation is None:
        return set()
    prefix = _ERROR_PREFIXES[match[1]]
    modelled = {shape.name.removesuffix("Fault").removesuffix("Exception") for shape in operation.error_shapes}
    return {f"{prefix}.{name}Exception" for name in modelled} | {f"{prefix}.{prefix}Exception"}


@cache
def _service(name: str) -> Any:
    return botocore.session.get_session().get_service_model(name)


@cache
def _raised_by_lambdas() -> set[str]:
    """The error of a Lambda is named after its exception class, so one of ours must have that name."""
    return {name for folder in ("lambdas", "belay") for name in _exception_classes(REPOSITORY / folder)}


def _exception_classes(folder: Path) -> Iterator[str]:
    for module in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(module.read_text())):
            if isinstance(node, ast.ClassDef) and any("Exception" in ast.unparse(base) for base in node.bases):
                yield node.name
