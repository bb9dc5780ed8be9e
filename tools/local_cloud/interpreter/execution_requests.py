"""Which requests about executions AWS refuses, beyond the limits in its model.

The words of the errors were recorded on AWS by localstack (test_sfn_api). The order of StartExecution's checks was
measured by a user of AWS: limits of the model, machine, name, input.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

from tools.local_cloud import engines
from tools.local_cloud.interpreter.definitions import check_name
from tools.local_cloud.platform.handlers import checked
from tools.local_cloud.services.errors import AwsError, not_supported

MODULE = "ministack.services.stepfunctions"


def install() -> None:
    """ListExecutions; StartExecution's check is part of how executions start."""
    engines.replace(MODULE, "_list_executions", checked(_check_list, engines.use(MODULE, "_list_executions")))


def check_start(request: dict[str, Any]) -> None:
    _check_machine(request["stateMachineArn"])
    if name := request.get("name"):
        check_name(name)
    given = request.get("input", "{}")
    if not given:
        _refuse_input("Invalid execution input.")
    try:
        json.loads(given, parse_constant=_refuse_input)
    except ValueError as error:
        _refuse_input(str(error))


def redrive(request: dict[str, Any]) -> dict[str, Any]:
    """Refuses what AWS refuses. To go on inside a Parallel or a Map is more than the interpreter can."""
    arn = request["executionArn"]
    record = engines.use(MODULE, "_executions").get(arn)
    if record is None:
        raise AwsError("ExecutionDoesNotExist", f"Execution Does Not Exist: '{arn}'")
    if record["status"] in ("RUNNING", "SUCCEEDED"):
        # The reason is DescribeExecution's redriveStatusReason; that it is the error's message is [?].
        raise AwsError("ExecutionNotRedrivable", f"Execution is {record['status']} and cannot be redriven")
    not_supported("states:RedriveExecution")


def _check_list(request: dict[str, Any]) -> None:
    if arn := request.get("stateMachineArn"):
        _check_machine(arn)
        if request.get("statusFilter") == "PENDING_REDRIVE":
            # API_ListExecutions, statusFilter; the words are [?].
            raise AwsError("ValidationException", "PENDING_REDRIVE needs a mapRunArn")


def _check_machine(arn: str) -> None:
    if not arn.startswith("arn:"):
        raise AwsError("InvalidArn", f"Invalid Arn: 'Invalid ARN prefix: {arn}'")
    if engines.use(MODULE, "_resolve_state_machine_arn")(arn) is None:
        raise AwsError("StateMachineDoesNotExist", f"State Machine Does Not Exist: '{arn}'")


def _refuse_input(reason: str) -> NoReturn:
    raise AwsError("InvalidExecutionInput", f"Invalid State Machine Execution Input: '{reason}'")
