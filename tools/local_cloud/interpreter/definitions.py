"""State machines that AWS would not create are refused here too, also when CloudFormation makes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tools.definitions.creation import Refusal, refusals
from tools.local_cloud import engines
from tools.local_cloud.platform.handlers import answer, checked
from tools.local_cloud.platform.roles import assume
from tools.local_cloud.services.errors import AwsError
from tools.local_cloud.settings import ACCOUNT, REGION

MODULE = "ministack.services.stepfunctions"
PROVISIONERS = "ministack.services.cloudformation.provisioners"
EVALUATOR = "ministack.core.iam_evaluator"
LOG_DELIVERY = (
    "CreateLogDelivery",
    "GetLogDelivery",
    "UpdateLogDelivery",
    "DeleteLogDelivery",
    "ListLogDeliveries",
    "PutResourcePolicy",
    "DescribeResourcePolicies",
    "DescribeLogGroups",
)
PARSER = f"{engines.ASL}.parse.asl_parser"
# Names of machines and executions: printable, without what the model's documentation of `name` lists.
FORBIDDEN_IN_NAMES = frozenset(' <>{}[]?*"#%\\^|~`$&,;:/')


def install() -> None:
    """Checks both API calls and the resource type, and answers ValidateStateMachineDefinition."""
    create, update = engines.use(MODULE, "_create_state_machine"), engines.use(MODULE, "_update_state_machine")
    engines.replace(MODULE, "_create_state_machine", checked(_check_creation, create))
    engines.replace(MODULE, "_update_state_machine", checked(_check_update, update))
    engines.replace(MODULE, "_validate_state_machine_definition", lambda request: answer(lambda: _validate(request)))
    machines = engines.use(PROVISIONERS, "_RESOURCE_HANDLERS")["AWS::StepFunctions::StateMachine"]
    machines["create"] = _checked_resource(machines["create"])


def check_name(name: str) -> None:
    """API_StartExecution and API_CreateStateMachine, `name`; the length is a limit of the request."""
    if FORBIDDEN_IN_NAMES & set(name) or any(letter.isspace() or not letter.isprintable() for letter in name):
        raise AwsError("InvalidName", f"Invalid Name: '{name}'")


def _check_creation(request: dict[str, Any]) -> None:
    check_name(request["name"])
    _check(request["definition"])
    _check_logging(request["roleArn"], request.get("loggingConfiguration") or {})


def _check_update(request: dict[str, Any]) -> None:
    if not {"definition", "roleArn", "loggingConfiguration", "tracingConfiguration"} & set(request):
        # Recorded on AWS by localstack (test_sfn_api, test_create_update_state_machine_base_update_none).
        parts = "the definition, the role ARN, the LoggingConfiguration, or the TracingConfiguration"
        raise AwsError("MissingRequiredParameter", f"Either {parts} must be specified")
    if "definition" in request:
        _check(request["definition"])


def _check(definition: str) -> None:
    if found := _all_refusals(definition):
        raise AwsError("InvalidDefinition", f"Invalid State Machine Definition: '{', '.join(map(str, found))}'")


def _check_logging(role: str, logging: dict[str, Any]) -> None:
    """Step Functions makes the delivery and the resource policy of the log group itself, by the rights of the machine's
    role (Step Functions guide, "IAM policies for logging to CloudWatch Logs"). A new account has no such policy yet."""
    if not (logging.get("destinations") or logging.get("Destinations")):
        return
    enforce, scope = engines.use(EVALUATOR, "enforce"), engines.use("ministack.core.responses", "request_scope")
    key = assume(role, "StepFunctions").access_key
    with scope(ACCOUNT, REGION):
        if any(enforce(key, f"logs:{action}", "logs", REGION, resource_arn="*") for action in LOG_DELIVERY):
            message = "The state machine IAM Role is not authorized to access the Log Destination"
            raise AwsError("AccessDeniedException", message)


def _validate(request: dict[str, Any]) -> dict[str, Any]:
    """API_ValidateStateMachineDefinition: at most 100 diagnostics, and 0 asks for the default."""
    most = request.get("maxResults") or 100
    found = _all_refusals(request["definition"])
    shown = [
        {"severity": "ERROR", "code": one.code, "message": one.message}
        | ({"location": one.location} if one.location else {})
        for one in found[:most]
    ]
    return {"result": "FAIL" if found else "OK", "diagnostics": shown, "truncated": len(found) > most}


def _all_refusals(definition: str) -> list[Refusal]:
    """Ours first: they speak as AWS does. What the interpreter cannot parse would otherwise fail when it runs."""
    if found := refusals(definition):
        return found
    try:
        engines.use(PARSER, "AmazonStateLanguageParser.parse")(definition)
    except Exception as error:
        return [Refusal("SCHEMA_VALIDATION_FAILED", str(error), "/")]
    return []


def _checked_resource(create: Callable[..., Any]) -> Callable[..., Any]:
    definition_of = engines.use(PROVISIONERS, "_sfn_definition")

    def create_checked(logical_id: str, properties: dict[str, Any], stack: str) -> Any:
        _check(definition_of(properties))
        _check_logging(properties["RoleArn"], properties.get("LoggingConfiguration") or {})
        return create(logical_id, properties, stack)

    return create_checked
