"""Injects faults into an execution at one of its states."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from moto.stepfunctions.parser.api import HistoryEventType
from moto.stepfunctions.parser.asl.component.common.error_name.custom_error_name import CustomErrorName
from moto.stepfunctions.parser.asl.component.common.error_name.failure_event import (
    FailureEvent,
    FailureEventException,
)

from tools.local_cloud import engines
from tools.local_cloud.faults import FaultRegistry, HoldsAt, StateFails, StopsAt

STATE = f"{engines.COMPONENT}.state.state"
SERVICE = f"{engines.TASK}.state_task_service"
ECS = f"{engines.TASK}.state_task_service_ecs"
SFN = f"{engines.TASK}.state_task_service_sfn"
_LOOK_EVERY_SECONDS = 0.05
STARTERS = (
    (ECS, "StateTaskServiceEcs._build_sync_resolver"),
    (SFN, "StateTaskServiceSfn._build_sync_resolver"),
    (SFN, "StateTaskServiceSfn._build_sync2_resolver"),
)


def install(faults: FaultRegistry, stop: Callable[[str], None]) -> None:
    """`stop` is StopExecution. Must be installed after everything else that wraps these names."""
    enter, call = (
        engines.use(STATE, "CommonStateField._eval_body"),
        engines.use(SERVICE, "StateTaskService._eval_execution"),
    )

    def entered(self: Any, env: Any) -> None:
        labels = _labels(env) if faults.waiting() else {}
        if labels and faults.take(StopsAt, labels, when=lambda one: one.state == self.name):
            stop(labels["execution"])
        while labels and faults.find(HoldsAt, labels, when=lambda one: one.state == self.name):
            time.sleep(_LOOK_EVERY_SECONDS)
        enter(self, env)

    def called(self: Any, env: Any) -> None:
        _fail_if_injected(self, env, faults, after=False)
        call(self, env)
        _fail_if_injected(self, env, faults, after=True)

    engines.replace(STATE, "CommonStateField._eval_body", entered)
    engines.replace(SERVICE, "StateTaskService._eval_execution", called)
    for module, name in STARTERS:
        engines.replace(module, name, _with_lost_reply(engines.use(module, name), faults))


def _with_lost_reply(build: Any, faults: FaultRegistry) -> Any:
    """A .sync state has started its task when it begins to watch it: this is where the reply can be lost."""

    def watch(self: Any, env: Any, **call: Any) -> Any:
        _fail_if_injected(self, env, faults, after=True)
        return build(self, env, **call)

    return watch


def _fail_if_injected(state: Any, env: Any, faults: FaultRegistry, *, after: bool) -> None:
    if not faults.waiting():
        return
    fault = faults.take(StateFails, _labels(env), when=lambda one: (one.state, one.after) == (state.name, after))
    if fault is None:
        return
    detail = {"resource": state._get_sfn_resource(), "resourceType": state._get_sfn_resource_type()}
    detail |= {"error": fault.error, "cause": fault.cause}
    details: Any
    if fault.error == "States.Timeout":
        kind, details = HistoryEventType.TaskTimedOut, {"taskTimedOutEventDetails": detail}
    else:
        kind, details = HistoryEventType.TaskFailed, {"taskFailedEventDetails": detail}
    raise FailureEventException(FailureEvent(env, CustomErrorName(fault.error), kind, details))


def _labels(env: Any) -> dict[str, str]:
    execution = env.states.context_object.context_object_data["Execution"]
    given = execution["Input"] if isinstance(execution["Input"], dict) else {}
    return {**{key: value for key, value in given.items() if isinstance(value, str)}, "execution": execution["Id"]}
