"""Tasks that are waited for (.sync): polled, judged by their exit codes, and cancelled with whoever waits."""

from __future__ import annotations

import json
from typing import Any, cast

from botocore.exceptions import ClientError
from moto.stepfunctions.parser.api import HistoryEventType, TaskFailedEventDetails
from moto.stepfunctions.parser.asl.component.common.error_name.custom_error_name import CustomErrorName
from moto.stepfunctions.parser.asl.component.common.error_name.failure_event import (
    FailureEvent,
    FailureEventException,
)
from moto.stepfunctions.parser.asl.eval.event.event_detail import EventDetails

from local_cloud import engines

CALLBACK = f"{engines.TASK}.state_task_service_callback"
ECS = f"{engines.TASK}.state_task_service_ecs"
SFN = f"{engines.TASK}.state_task_service_sfn"
POLL_SECONDS = 0.2
RUN_TASK_PARAMETERS = {"CapacityProviderStrategy", "Count", "Tags", "EnableECSManagedTags", "ReferenceId"}


class Interrupted(Exception):
    """The state that waited is over; nobody will hear this."""


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


class _Watch:
    """Asks how something stands, and can end it."""

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
        raise _failure(self, env, "ECS.AmazonECSException", json.dumps(answer["Failures"]))
    env.stack.append(answer)


def _watch_task(self: Any, env: Any, **call: Any) -> _Watch:
    client = _client("ecs", call)
    started = env.stack.pop()["Tasks"][0]
    cluster, arn = started["ClusterArn"], started["TaskArn"]

    def ask() -> Any:
        answer = client.describe_tasks(cluster=cluster, tasks=[arn])
        if answer["tasks"][0]["lastStatus"] != "STOPPED":
            return None
        self._normalise_response(response=answer, service_action_name="describe_tasks")
        task = answer["Tasks"][0]
        if any(container.get("ExitCode") != 0 for container in task["Containers"]):
            raise _failure(self, env, "States.TaskFailed", json.dumps(task))
        return task

    def cancel() -> None:
        client.stop_task(cluster=cluster, task=arn, reason="Task stopped by AWS Step Functions")

    return _Watch(ask, cancel)


def _watching_child(build: Any) -> Any:
    def watch_child(self: Any, env: Any, **call: Any) -> _Watch:
        client = _client("stepfunctions", call)
        arn = env.stack[-1]["ExecutionArn"]
        ask = build(self, env, **call)
        return _Watch(ask, lambda: client.stop_execution(executionArn=arn, cause="The parent execution was stopped"))

    return watch_child


def _naming_errors(otherwise: Any) -> Any:
    def from_error(self: Any, env: Any, ex: Exception) -> FailureEvent:
        if not isinstance(ex, ClientError):
            return cast(FailureEvent, otherwise(self, env=env, ex=ex))
        code, status = ex.response["Error"]["Code"], ex.response["ResponseMetadata"]["HTTPStatusCode"]
        name = f"ECS.{code}" if code.endswith("Exception") else f"ECS.{code}Exception"
        cause = f"{ex.response['Error']['Message']} (Service: AmazonECS; Status Code: {status}; Error Code: {code})"
        return _failure(self, env, name, cause).failure_event

    return from_error


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
