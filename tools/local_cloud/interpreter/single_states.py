"""TestState: one state, run by the interpreter with the role given, and how it ended.

API_TestState: "Accepts the definition of a single state and executes it"; `variables` are those that it may read.
FAILED comes with the error and cause that a Catch would see; tasks of .sync and .waitForTaskToken, Parallel and Map are
not executed. What the interpreter does in another way than AWS is refused here: it evaluates Output after Catch.
"""

from __future__ import annotations

import datetime
import json
import uuid
from collections.abc import Callable
from typing import Any

from moto.stepfunctions.parser.asl.eval.program_state import ProgramEnded, ProgramError
from moto.stepfunctions.parser.backend.execution_worker import ExecutionWorker

from tools.local_cloud import engines
from tools.local_cloud.platform.handlers import answer
from tools.local_cloud.services.errors import AwsError, not_supported
from tools.local_cloud.settings import ACCOUNT, REGION

MODULE = "ministack.services.stepfunctions"
STATES = f"arn:aws:states:{REGION}:{ACCOUNT}"
ONLY_AWS_HAS = ("stateName", "mock", "context", "stateConfiguration", "revealSecrets")
NOT_EXECUTED = ("Parallel", "Map")
VARIABLES, TESTED = "Variables", "State under test"


def install(worker_of: Callable[[dict[str, Any], dict[str, Any]], ExecutionWorker]) -> None:
    """`worker_of`: the interpreter for the record of an execution and of its machine."""

    def test_state(request: dict[str, Any]) -> Any:
        return answer(lambda: _test(request, worker_of))

    engines.replace(MODULE, "_test_state", test_state)


def _test(
    request: dict[str, Any], worker_of: Callable[[dict[str, Any], dict[str, Any]], ExecutionWorker]
) -> dict[str, Any]:
    if unbuilt := [name for name in ONLY_AWS_HAS if request.get(name)]:
        not_supported(f"states:TestState with {', '.join(unbuilt)}")
    if not request.get("roleArn"):
        raise AwsError("ValidationException", "roleArn is required to test a Task state")
    state = json.loads(request["definition"])
    _check(state)
    name = str(uuid.uuid4())
    machine = {"roleArn": request["roleArn"], "name": "test", "definition": json.dumps(_machine(state, request))}
    execution = {
        "executionArn": f"{STATES}:execution:test:{name}",
        "stateMachineArn": f"{STATES}:stateMachine:test",
        "name": name,
        "input": request.get("input") or "{}",
        "startDate": datetime.datetime.now(datetime.UTC).isoformat(),
    }
    worker = worker_of(execution, machine)
    worker.stopped = lambda: False  # type: ignore[attr-defined]
    worker._execution_logic()  # type: ignore[no-untyped-call]
    assert worker.env is not None
    match worker.env.program_state():
        case ProgramEnded():
            output = json.dumps(worker.env.states.get_input())
            return {
                "status": "SUCCEEDED",
                "output": output,
                **({"nextState": state["Next"]} if "Next" in state else {}),
            }
        case ProgramError() as failed:
            error = failed.error or {}
            return {"status": "FAILED", "error": error.get("error"), "cause": error.get("cause")}
        case other:
            raise AssertionError(f"one state cannot end as {other}")


def _check(state: dict[str, Any]) -> None:
    if rules := [field for field in ("Retry", "Catch") if state.get(field)]:
        not_supported(f"states:TestState of a state with {' and '.join(rules)}")
    resource = str(state.get("Resource", ""))
    if state.get("Type") in NOT_EXECUTED or resource.endswith((".sync", ".sync:2", ".waitForTaskToken")):
        raise AwsError("InvalidDefinition", "TestState supports this state only when a mock is specified")


def _machine(state: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    """A Pass state gives the variables; behind the state there is nothing."""
    alone = {key: value for key, value in state.items() if key != "Next"}
    if state["Type"] not in ("Succeed", "Fail", "Choice"):
        alone["End"] = True
    first = {"Type": "Pass", "QueryLanguage": "JSONata", "Next": TESTED}
    if variables := json.loads(request.get("variables") or "{}"):
        first["Assign"] = variables
    return {"StartAt": VARIABLES, "States": {VARIABLES: first, TESTED: alone}}
