"""The arguments of a task that were computed: names as Step Functions spells them, at most 256 KiB."""

from __future__ import annotations

import json
from typing import Any

from moto.stepfunctions.parser.asl.component.common.error_name.failure_event import FailureEventException

from tools.definitions.integrations import unsupported_parameters
from tools.local_cloud import engines
from tools.local_cloud.interpreter.errors import task_failed
from tools.local_cloud.interpreter.sizes import LARGEST_BYTES, fits, too_large

TASK = f"{engines.COMPONENT}.state.exec.state_task.state_task"


def install() -> None:
    engines.replace(TASK, "StateTask._eval_parameters", _eval_parameters)


def _eval_parameters(self: Any, env: Any) -> dict[str, Any]:
    """As the interpreter's, which drops names that it does not know without a word."""
    if self.parargs is None:
        return {}
    self.parargs.eval(env=env)
    arguments: dict[str, Any] = env.stack.pop()
    if wrong := [name for _, name in unsupported_parameters(self.resource.resource_arn, arguments)]:
        raise _not_started(env, arguments, wrong)
    if not fits(arguments):
        raise too_large(env, f"has arguments of more than {LARGEST_BYTES} bytes")
    known = self._get_supported_parameters()
    return {name: value for name, value in arguments.items() if not known or name in known}


def _not_started(env: Any, arguments: Any, wrong: list[str]) -> FailureEventException:
    """The sentence was recorded on AWS by localstack for other faults (test_apigetway_task_service); its end is [?]."""
    reasons = ", ".join(f'The field "{name}" is not supported by Step Functions' for name in wrong)
    shown = json.dumps(arguments, separators=(",", ":"))
    cause = f"The Parameters '{shown}' could not be used to start the Task: [{reasons}]"
    return task_failed(env, "States.Runtime", cause)
