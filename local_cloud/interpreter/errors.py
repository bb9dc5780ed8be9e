"""Error names as Step Functions gives them."""

from __future__ import annotations

from typing import Any

from local_cloud import engines

NAMES = f"{engines.COMPONENT}.common.error_name"
SDK = f"{engines.TASK}.state_task_service_aws_sdk"
# What even States.ALL lets through, by the language's definition.
TERMINAL = ("States.DataLimitExceeded", "States.Runtime")


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


def _error_equals(self: Any, env: Any) -> None:
    failed = env.stack.pop()
    name = failed.error_name if failed is not None else None
    wanted = {one.error_name for one in self.error_names}
    if "States.ALL" in wanted:
        matches = name not in TERMINAL
    elif "States.TaskFailed" in wanted and name not in ("States.Timeout", *TERMINAL):
        matches = True  # "Matches any known error name except for States.Timeout."
    else:
        matches = name in wanted or (name == "States.HeartbeatTimeout" and "States.Timeout" in wanted)
    env.stack.append(matches)
