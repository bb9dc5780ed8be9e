"""Tasks that are waited for (.sync): polled, failed by their exit codes, cancelled when the waiting state ends."""

from __future__ import annotations

import json
from functools import cache
from typing import Any, cast

import boto3
from botocore.exceptions import ClientError
from moto.stepfunctions.parser.api import HistoryEventType, TaskFailedEventDetails
from moto.stepfunctions.parser.asl.component.common.error_name.custom_error_name import CustomErrorName
from moto.stepfunctions.parser.asl.component.common.error_name.failure_event import (
    FailureEvent,
    FailureEventException,
)
from moto.stepfunctions.parser.asl.eval.event.event_detail import EventDetails

from belay.policy.ecs_words import RUN_TASK_THROTTLED, RUN_TASK_UNKNOWN
from tools.local_cloud import engines
from tools.local_cloud.settings import REGION

CALLBACK = f"{engines.TASK}.state_task_service_callback"
ECS = f"{engines.TASK}.state_task_service_ecs"
SFN = f"{engines.TASK}.state_task_service_sfn"
POLL_SECONDS = 0.2
# Not in the interpreter's list. [?] ClientToken: AWS does not say which parameters its own integration passes on.
RUN_TASK_PARAMETERS = {
    "CapacityProviderStrategy",
    "Count",
    "Tags",
    "EnableECSManagedTags",
    "ReferenceId",
    "ClientToken",
}


class Interrupted(Exception):
    """The waiting state is over; this ends its thread without an event."""


def install() -> None:
    """Replaces how the interpreter waits for ECS tasks and child executions."""
    engines.replace(CALLBACK, "StateTaskServiceCallback._eval_sync", _wait)
    engines.use(ECS, "_SUPPORTED_API_PARAM_BINDINGS")["runtask"].update(RUN_TASK_PARAMETERS)
    engines.replace(ECS, "StateTaskServiceEcs._eval_service_task", _run_task)
    from_error = engines.use(ECS, "StateTaskServiceEcs._from_error")
    engines.replace(ECS, "StateTaskServiceEcs._from_error", _naming_errors(from_error))
    engines.replace(ECS, "StateTaskServiceEcs._build_sync_resolver", _watch_task)
    for name in ("StateTaskServiceSfn._build_sync_resolver", "StateTaskServiceSfn._build_sync2_resolver"):
        engines.replace(SFN, name, _watching_child(engines.use(SFN, name)))


def _wait(_self: Any, env: Any, sync_resolver: Any, **_rest: Any) -> Any:
    while env.is_running():
        if (result := sync_resolver()) is not None:
            return result
        env.program_state_event.wait(POLL_SECONDS)
    # Stopped, timed out, or a sibling branch failed: Step Functions then tries to stop what it waited for.
    sync_resolver.cancel()
    raise Interrupted


class _Resolver:
    """What the interpreter polls, and can cancel."""

    def __init__(self, ask: Any, cancel: Any) -> None:
        self._ask = ask
        self.cancel = cancel

    def __call__(self) -> Any:
        return self._ask()


def _run_task(self: Any, env: Any, **call: Any) -> None:
    answer = _client("ecs", call).run_task(**call["normalised_parameters"])
    answer.pop("ResponseMetadata", None)
    self._normalise_response(response=answer, service_action_name="run_task")
    if answer["Failures"] and not answer["Tasks"]:
        raise _failure(self, env, RUN_TASK_UNKNOWN, json.dumps(answer["Failures"]))
    env.stack.append(answer)


def _watch_task(self: Any, env: Any, **call: Any) -> _Resolver:
    client = _client("ecs", call)
    started = env.stack.pop()["Tasks"][0]
    cluster, arn = started["ClusterArn"], started["TaskArn"]

    def ask() -> Any:
        try:
            answer = client.describe_tasks(cluster=cluster, tasks=[arn])
        except ClientError as error:
            if error.response["Error"]["Code"] != "ThrottlingException":
                raise
            return None  # Step Functions would wait for an event, and here asks again.
        if not answer["tasks"]:
            return None  # ECS does not show it yet.
        if answer["tasks"][0]["lastStatus"] != "STOPPED":
            return None
        self._normalise_response(response=answer, service_action_name="describe_tasks")
        task = answer["Tasks"][0]
        if any(container.get("ExitCode") != 0 for container in task["Containers"]):
            raise _failure(self, env, "States.TaskFailed", json.dumps(task))
        return task

    def cancel() -> None:
        client.stop_task(cluster=cluster, task=arn, reason="Task stopped by AWS Step Functions")

    return _Resolver(ask, cancel)


def _watching_child(build: Any) -> Any:
    def watch_child(self: Any, env: Any, **call: Any) -> _Resolver:
        client = _client("stepfunctions", call)
        arn = env.stack[-1]["ExecutionArn"]
        ask = build(self, env, **call)
        return _Resolver(ask, lambda: client.stop_execution(executionArn=arn, cause="The parent execution was stopped"))

    return watch_child


def _naming_errors(otherwise: Any) -> Any:
    def from_error(self: Any, env: Any, ex: Exception) -> FailureEvent:
        if not isinstance(ex, ClientError):
            return cast(FailureEvent, otherwise(self, env=env, ex=ex))
        code, status = ex.response["Error"]["Code"], ex.response["ResponseMetadata"]["HTTPStatusCode"]
        # What the API of RunTask does not name comes as the SDK's own class.
        name = f"ECS.{code}" if code in _named_errors() else RUN_TASK_THROTTLED
        cause = f"{ex.response['Error']['Message']} (Service: AmazonECS; Status Code: {status}; Error Code: {code})"
        return _failure(self, env, name, cause).failure_event

    return from_error


@cache
def _named_errors() -> frozenset[str]:
    model = boto3.client("ecs", region_name=REGION).meta.service_model.operation_model("RunTask")
    return frozenset(error.name for error in model.error_shapes)


def _failure(task: Any, env: Any, error: str, cause: str) -> FailureEventException:
    details = TaskFailedEventDetails(
        resource=task._get_sfn_resource(), resourceType=task._get_sfn_resource_type(), error=error, cause=cause
    )
    event = FailureEvent(
        env=env,
        error_name=CustomErrorName(error),
        event_type=HistoryEventType.TaskFailed,
        event_details=EventDetails(taskFailedEventDetails=details),  # type: ignore[typeddict-item]
    )
    return FailureEventException(failure_event=event)


def _client(service: str, call: dict[str, Any]) -> Any:
    make = engines.use(f"{engines.ASL}.utils.boto_client", "boto_client_for")
    region, role = call["resource_runtime_part"].region, call["state_credentials"]
    return make(service=service, region=region, state_credentials=role)
