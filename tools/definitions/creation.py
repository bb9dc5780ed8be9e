"""What CreateStateMachine, UpdateStateMachine and ValidateStateMachineDefinition refuse in a definition.

Each rule names where AWS's own words for it were seen; [?] marks words that are only believed.
"""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from tools.definitions import dataflow
from tools.definitions.asl import Arrow, Json, Scope, is_expression, placed_blocks, scopes
from tools.definitions.expressions import Unreadable, parse
from tools.definitions.integrations import is_recognized, unsupported_parameters

LONGEST_STATE_NAME = 80
# In the order in which AWS lists them (localstack's test_field_validation_mode, recorded on AWS).
_TYPES = ("Task", "Wait", "Pass", "Succeed", "Fail", "Choice", "Parallel", "Map")
_SCHEMA = "SCHEMA_VALIDATION_FAILED"
_TRANSITION = "MISSING_TRANSITION_TARGET"


class Refusal(NamedTuple):
    """One fault, as ValidateStateMachineDefinition gives it."""

    code: str
    message: str
    location: str

    def __str__(self) -> str:
        return f"{self.code}: {self.message}" + (f" at {self.location}" if self.location else "")


def refusals(text: str) -> list[Refusal]:
    """Nothing for a definition that AWS would take."""
    try:
        definition = json.loads(text)
    except ValueError as error:
        return [Refusal("INVALID_JSON_DESCRIPTION", str(error), "")]
    if malformed := list(_malformed(definition, "")):
        return malformed  # The other rules read the fields that are missing.
    if unreadable := list(_unreadable(definition, "")):
        return unreadable
    return [
        *_long_names(definition),
        *_repeated_names(definition),
        *_lost_transitions(definition),
        *_hidden_variables(definition),
        *_misplaced_fields(definition),
        *_wrong_calls(definition),
    ]


def _malformed(block: Any, path: str) -> Iterator[Refusal]:
    """Seen in localstack's tests that are recorded on AWS (test_sfn_api, test_sfn_api_validation)."""
    if missing := _missing(block, "StartAt", "States", path=path):
        yield missing
        return
    for name, state in block["States"].items():
        here = f"{path}/States/{name}"
        if not isinstance(state, dict) or state.get("Type") not in _TYPES:
            message = f"The field 'Type' should have one of these values: [{', '.join(_TYPES)}]"
            yield Refusal(_SCHEMA, message, f"{here}/Type")
            continue
        if state.get("Branches") == []:
            yield Refusal(_SCHEMA, "Value cannot be empty", f"{here}/Branches")
        for field in ("Choices", "Catch"):
            for number, rule in enumerate(state.get(field, [])):
                if missing := _missing(rule, "Next", path=f"{here}/{field}[{number}]"):
                    yield missing
        for place, inner in placed_blocks(state):
            yield from _malformed(inner, f"{here}/{place}")


def _missing(value: Any, *fields: str, path: str) -> Refusal | None:
    missing = [field for field in fields if not isinstance(value, dict) or field not in value]
    return Refusal(_SCHEMA, f"These fields are required: [{', '.join(missing)}]", path or "/") if missing else None


def _unreadable(value: Any, path: str) -> Iterator[Refusal]:
    """Code and place as measured by github.com/floci-io/floci; the words are those of our parser."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _unreadable(inner, f"{path}/{key}")
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _unreadable(inner, f"{path}[{number}]")
    elif is_expression(value):
        try:
            parse(value)
        except Unreadable as error:
            yield Refusal("INVALID_JSONATA_EXPRESSION", str(error.__cause__), path)


def _long_names(definition: Json) -> Iterator[Refusal]:
    """Seen in github.com/ChristopheBougere/asl-validator/issues/69."""
    for scope in scopes(definition):
        for name in scope.states:
            if len(name) > LONGEST_STATE_NAME:
                message = f"Invalid State name: State '{name}' exceeds the 80-character limit allowed by the service"
                yield Refusal("INVALID_STATE_NAME", message, f"{scope.path}/States/{name}")


def _repeated_names(definition: Json) -> Iterator[Refusal]:
    """Unique in the whole machine. Seen in github.com/aws-cloudformation/cfn-lint/issues/3616; the place is [?]."""
    seen = Counter[str]()
    for scope in scopes(definition):
        for name in scope.states:
            seen[name] += 1
            if seen[name] == 2:
                yield Refusal("DUPLICATE_STATE_NAME", f"Duplicate State name: {name}", f"{scope.path}/States/{name}")


def _lost_transitions(definition: Json) -> Iterator[Refusal]:
    """Seen in github.com/localstack/localstack/pull/12487 and serverless-step-functions/issues/250."""
    for scope in scopes(definition):
        if scope.start not in scope.states:
            yield Refusal(_TRANSITION, f"Missing 'Next' target: {scope.start}", f"{scope.path}/StartAt")
        for arrow in scope.arrows():
            if arrow.target not in scope.states:
                yield Refusal(_TRANSITION, f"Missing 'Next' target: {arrow.target}", _place(scope, arrow))
        for name in sorted(set(scope.states) - scope.reachable(scope.start)):
            yield Refusal(_TRANSITION, f'State "{name}" is not reachable.', f"{scope.path}/States/{name}")


def _place(scope: Scope, arrow: Arrow) -> str:
    """The path of the field; how AWS numbers the rules of a list is [?]."""
    here, state = f"{scope.path}/States/{arrow.source}", scope.states[arrow.source]
    if arrow.kind in ("next", "default"):
        return f"{here}/{arrow.kind.capitalize()}"
    field = "Choices" if arrow.kind == "when" else "Catch"
    return f"{here}/{field}[{state[field].index(arrow.rule)}]/Next"


def _hidden_variables(definition: Json) -> Iterator[Refusal]:
    """Developer guide, "Passing data between states with variables", Variable scope; when and in what words is [?]."""
    for fault in dataflow.hidden_variables(definition):
        yield Refusal(_SCHEMA, fault, "/")


def _misplaced_fields(definition: Json) -> Iterator[Refusal]:
    """The same page: caught "at creation, update, or validation". Words as measured by github.com/floci-io/floci."""
    for one in dataflow.misplaced(definition):
        message = f"Field '$states.{one.field}' does not exist."
        yield Refusal("UNSUPPORTED_JSONATA_EXPRESSION", message, f"{one.path}/{one.part}")


def _wrong_calls(definition: Json) -> Iterator[Refusal]:
    """Seen in github.com/aws/aws-cdk/pull/27635 and aws-step-functions-data-science-sdk-python/issues/198.

    "The API action will always be camel case, and parameter names will be Pascal case" (developer guide,
    "Learning to use AWS service SDK integrations"), in nested fields too.
    """
    for scope in scopes(definition):
        for name, state in scope.states.items():
            if state["Type"] != "Task":
                continue
            here, resource = f"{scope.path}/States/{name}", str(state.get("Resource", ""))
            if not is_recognized(resource):
                message = (
                    f"The resource provided {resource} is not recognized. The value is not a valid resource ARN, "
                    "or the resource is not available in this region."
                )
                yield Refusal(_SCHEMA, message, f"{here}/Resource")
            field = "Arguments" if "Arguments" in state else "Parameters"
            for place, parameter in unsupported_parameters(resource, state.get(field)):
                message = f'The field "{parameter}" is not supported by Step Functions'
                yield Refusal(_SCHEMA, message, f"{here}/{field}{place}")
