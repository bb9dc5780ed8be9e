"""The calls of Task states: signed with the state machine's role, translated to boto3's spelling and back."""

from __future__ import annotations

import datetime
from functools import cache
from typing import Any

import botocore.session
from botocore import xform_name
from botocore.config import Config
from botocore.model import OperationModel

from tools.local_cloud import engines
from tools.local_cloud.clients import ROOT, Clients
from tools.local_cloud.platform.roles import assume

SERVICE = f"{engines.TASK}.state_task_service"


def install(*, endpoint: str) -> None:
    """One client for each service and role: making one costs more than a whole execution."""
    # Step Functions itself decides about retries: the client must not.
    quiet = Config(
        parameter_validation=False,
        retries={"total_max_attempts": 1},
        read_timeout=900,
        max_pool_connections=64,
        inject_host_prefix=False,
    )
    clients = Clients(endpoint=endpoint, config=quiet)
    clients.on_made = _give_request_ids

    def boto_client_for(region: str, service: str, state_credentials: Any = None) -> Any:
        identity = assume(state_credentials.role_arn, "StepFunctions") if state_credentials else ROOT
        return clients.get(service, identity=identity)

    engines.replace(f"{engines.ASL}.utils.boto_client", "boto_client_for", boto_client_for)
    engines.replace(SERVICE, "StateTaskService._normalise_parameters", _normalise_parameters)
    engines.replace(SERVICE, "StateTaskService._normalise_response", _normalise_response)


def _give_request_ids(client: Any) -> None:
    # The interpreter's error texts need one, and errors of ministack have none.
    def give(parsed: dict[str, Any], **_rest: Any) -> None:
        parsed.setdefault("ResponseMetadata", {}).setdefault("RequestId", "local")

    client.meta.events.register("after-call", give)


def _normalise_parameters(
    self: Any, parameters: Any, boto_service_name: Any = None, service_action_name: Any = None
) -> None:
    model = _operation(self, boto_service_name, service_action_name)
    if model is not None and model.input_shape is not None:
        self._to_boto_request(parameters, model.input_shape)


def _normalise_response(
    self: Any, response: Any, boto_service_name: Any = None, service_action_name: Any = None
) -> None:
    model = _operation(self, boto_service_name, service_action_name)
    if model is not None and model.output_shape is not None:
        self._from_boto_response(response, model.output_shape)
    _plain(response)


def _operation(task: Any, service: str | None, action: str | None) -> OperationModel | None:
    return _model(task._get_boto_service_name(service), task._get_boto_service_action(action))


@cache
def _model(service: str, action: str) -> OperationModel | None:
    model = botocore.session.get_session().get_service_model(service)
    return next((model.operation_model(name) for name in model.operation_names if xform_name(name) == action), None)


def _plain(value: Any) -> None:
    """Times become the ISO strings that Step Functions shows."""
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        if isinstance(value[key], datetime.datetime):
            value[key] = value[key].astimezone(datetime.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        else:
            _plain(value[key])
