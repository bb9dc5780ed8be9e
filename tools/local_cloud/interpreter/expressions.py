"""Lets the interpreter evaluate JSONata with our evaluator, on values instead of source text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from moto.stepfunctions.parser.api import EvaluationFailedEventDetails, HistoryEventType
from moto.stepfunctions.parser.asl.component.common.error_name.failure_event import (
    FailureEvent,
    FailureEventException,
)
from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name import StatesErrorName
from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name_type import StatesErrorNameType
from moto.stepfunctions.parser.asl.eval.event.event_detail import EventDetails

from tools.local_cloud import engines
from tools.local_cloud.interpreter.jsonata import QueryEvaluationError, evaluate

STATE = f"{engines.COMPONENT}.state.state"
STRINGS = f"{engines.COMPONENT}.common.string.string_expression"
JSON_PATH = f"{engines.ASL}.utils.json_path"


def install() -> None:
    """JSONata by our evaluator; JSONPath with definite paths that give values."""
    engines.replace(STATE, "CommonStateField._eval_body", _with_variables_of_entry())
    engines.replace(STRINGS, "StringJSONata._eval_body", _evaluate_string)
    engines.replace(JSON_PATH, "extract_json", _extract_json)


def _with_variables_of_entry() -> Callable[[Any, Any], None]:
    """ "All variable references in Step Functions states use the values as they were on state entry."

    Developer guide, "Passing data between states with variables", Evaluation order: an Output does not see what the
    Assign beside it assigns.
    """
    enter = engines.use(STATE, "CommonStateField._eval_body")

    def entered(self: Any, env: Any) -> None:
        env.variable_store.at_entry = _variables(env.variable_store)
        enter(self, env)

    return entered


def _variables(store: Any) -> dict[str, Any]:
    return {**store._outer_scope, **store._inner_scope}


def _evaluate_string(self: Any, env: Any) -> None:
    store, states = env.variable_store, env.states._states_data
    # An item of a Map is selected in its scope before a state of the scope is entered.
    variables = store.at_entry if hasattr(store, "at_entry") else _variables(store)
    bindings = {**variables, "states": states}
    try:
        env.stack.append(evaluate(self.expression, bindings))
    except QueryEvaluationError as error:
        raise _failure(env, str(error)) from error


def _failure(env: Any, cause: str) -> FailureEventException:
    name = StatesErrorName(typ=StatesErrorNameType.StatesQueryEvaluationError)
    details = EventDetails(  # type: ignore[typeddict-item]
        evaluationFailedEventDetails=EvaluationFailedEventDetails(cause=cause, error=name.error_name)
    )
    event = FailureEvent(env=env, error_name=name, event_type=HistoryEventType.EvaluationFailed, event_details=details)
    return FailureEventException(failure_event=event)


def _extract_json(path: str, data: Any) -> Any:
    from jsonpath_ng import Child, Fields, Index, Root
    from jsonpath_ng.ext import parse  # type: ignore[attr-defined]
    from moto.stepfunctions.parser.asl.utils.json_path import NoSuchJsonPathError

    def definite(part: Any) -> bool:
        if isinstance(part, Child):
            return definite(part.left) and definite(part.right)
        if isinstance(part, Fields):
            return len(part.fields) == 1 and part.fields[0] != "*"
        return isinstance(part, (Root, Index))

    query = parse(path)
    found = [match.value for match in query.find(data)]
    if not definite(query):
        return found
    if not found:
        raise NoSuchJsonPathError(json_path=path, data=data)
    return found[0]
