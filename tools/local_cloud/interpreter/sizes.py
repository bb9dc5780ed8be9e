"""The limits on data: 256 KiB for what a state or a task hands on, for a variable and for one Assign; 10 MiB in all.

Developer guide, "Step Functions service quotas" (maximum input or output size: 262,144 bytes as UTF-8) and "Passing
data between states with variables", Limits. The name and the cause for results were recorded on AWS by localstack
(test_states_errors); that variables and arguments give the same error is [?].
"""

from __future__ import annotations

import json
from typing import Any

from moto.stepfunctions.parser.asl.component.common.error_name.failure_event import FailureEventException

from tools.local_cloud import engines
from tools.local_cloud.interpreter.errors import task_failed

LARGEST_BYTES = 262_144
ALL_VARIABLES_BYTES = 10 * 1024 * 1024
ERROR = "States.DataLimitExceeded"


def install() -> None:
    """States and tasks are measured by the interpreter; variables are measured here."""
    engines.replace("moto.stepfunctions.parser.quotas", "is_within_size_quota", fits)
    engines.replace(f"{engines.COMPONENT}.common.assign.assign_decl", "AssignDecl._eval_body", _assign)


def size(value: Any) -> int:
    """Bytes of the value as JSON without spaces."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str).encode())


def fits(value: Any) -> bool:
    return size(value) <= LARGEST_BYTES


def too_large(env: Any, what: str) -> FailureEventException:
    """To be raised by a state."""
    return task_failed(env, ERROR, f"The state/task '{env.next_state_name}' {what}.")


def _assign(self: Any, env: Any) -> None:
    """All expressions first, then all assignments."""
    new: dict[str, Any] = {}
    for binding in self.declaration_bindings:
        binding.eval(env=env)
        new.update(env.stack.pop())
    # One Assign also bounds each of its variables.
    if sum(size(value) for value in new.values()) > LARGEST_BYTES:
        raise too_large(env, f"assigned variables of more than {LARGEST_BYTES} bytes")
    store = env.variable_store
    if sum(size(value) for value in {**store._outer_scope, **store._inner_scope, **new}.values()) > ALL_VARIABLES_BYTES:
        raise too_large(env, f"brought all variables to more than {ALL_VARIABLES_BYTES} bytes")
    for name, value in new.items():
        store.set(variable_identifier=name, variable_value=value)
