"""Error names as Step Functions gives them."""

from __future__ import annotations

from typing import Any

from moto.stepfunctions.parser.api import HistoryEventType, TaskFailedEventDetails
from moto.stepfunctions.parser.asl.component.common.error_name.custom_error_name import CustomErrorName
from moto.stepfunctions.parser.asl.component.common.error_name.failure_event import (
    FailureEvent,
    FailureEventException,
)
from moto.stepfunctions.parser.asl.eval.event.event_detail import EventDetails

from tools.local_cloud import engines

NAMES = f"{engines.COMPONENT}.common.error_name"
SDK = f"{engines.TASK}.state_task_service_aws_sdk"
# What even States.ALL lets through, by the language's definition.
TERMINAL = ("States.DataLimitExceeded", "States.Runtime")
HEARTBEAT = "States.HeartbeatTimeout"


def install() -> None:
    """Fail may use States.* names, branches carry any name up, and States.ALL has its two exceptions."""

    def keep_name(self: Any, error_name: str | None) -> None:
        self.error_name = error_name

    engines.replace(f"{NAMES}.custom_error_name", "CustomErrorName.__init__", keep_name)
    engines.replace(f"{NAMES}.error_equals_decl", "ErrorEqualsDecl._eval_body", _error_equals)
    engines.use(SDK, "_SERVICE_ERROR_NAMES").update(
        fsx="FSx", ecs="Ecs", s3="S3", sns="Sns", sqs="Sqs", ssm="Ssm", lambda_="Lambda",
        cloudwatch="CloudWatch", cloudwatchlogs="CloudWatchLogs", eventbridge="EventBridge",
    )  # fmt: skip


def task_failed(env: Any, error: str, cause: str) -> FailureEventException:
    """To be raised by a state."""
    details = EventDetails(taskFailedEventDetails=TaskFailedEventDetails(error=error, cause=cause))  # type: ignore[typeddict-item]
    return FailureEventException(FailureEvent(env, CustomErrorName(error), HistoryEventType.TaskFailed, details))


def _error_equals(self: Any, env: Any) -> None:
    failed = env.stack.pop()
    name = failed.error_name if failed is not None else None
    wanted = {one.error_name for one in self.error_names}
    if "States.ALL" in wanted:
        matches = name not in TERMINAL
    elif "States.TaskFailed" in wanted and name not in ("States.Timeout", HEARTBEAT, *TERMINAL):
        matches = True  # "Matches any known error name except for States.Timeout."
    else:
        matches = name in wanted or (name == HEARTBEAT and "States.Timeout" in wanted)
    env.stack.append(matches)
