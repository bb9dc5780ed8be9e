"""Every private name of the two engines that the local cloud uses or replaces, in one table, checked at the start."""

from __future__ import annotations

import importlib
import importlib.metadata
import sys
from dataclasses import dataclass
from typing import Any

PINNED = {"ministack": "1.5.33", "moto": "5.2.5", "jsonata-python": "0.7.1"}


class EngineChanged(RuntimeError):
    """An engine is not the version that the local cloud is built on, or lacks a name that it uses."""


@dataclass(frozen=True)
class Private:
    """One private name, and what breaks without it."""

    module: str
    name: str  # "function" or "Class.method"
    purpose: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"

    def holder(self) -> tuple[Any, str]:
        """The object that has the attribute, and the attribute's name."""
        owner: Any = importlib.import_module(self.module)
        *path, last = self.name.split(".")
        for part in path:
            owner = getattr(owner, part)
        return owner, last


MINISTACK = "ministack"
SERVICES = "ministack.services"
ASL = "moto.stepfunctions.parser.asl"
COMPONENT = f"{ASL}.component"
TASK = f"{COMPONENT}.state.exec.state_task.service"

TABLE = (
    # ministack: requests and permissions
    Private(f"{MINISTACK}.app", "app", "answers every request that is not for a service of ours"),
    Private(f"{MINISTACK}.app", "SERVICE_HANDLERS", "our services answer their requests"),
    Private(f"{MINISTACK}.core.router", "SERVICE_PATTERNS", "requests are routed to our services"),
    Private(f"{MINISTACK}.core.responses", "request_scope", "account and Region outside a request"),
    Private(f"{MINISTACK}.core.iam_actions", "SERVICE_TO_IAM_NAMESPACE", "requests to our services are authorised"),
    Private(f"{MINISTACK}.core.iam_actions", "extract_resource_arn", "which resources a request is about"),
    Private(f"{MINISTACK}.core.iam_actions", "access_denied_response", "an error in the protocol of the caller"),
    Private(f"{MINISTACK}.core.iam_evaluator", "enforce", "a request about several resources is checked on each"),
    Private(f"{MINISTACK}.core.iam_evaluator", "_gather_role_policies", "whether a task role allows anything"),
    Private(f"{SERVICES}.tagging", "_RESOURCE_TAG_COLLECTORS", "aws:ResourceTag of file systems and ECS resources"),
    Private(f"{SERVICES}.tagging", "resource_tags", "the tags under which a call was allowed"),
    Private(f"{SERVICES}.iam", "_roles", "service-linked roles by name"),
    Private(f"{SERVICES}.iam", "_create_service_linked_role", "service-linked roles have AWS's names"),
    Private(f"{SERVICES}.iam", "_IAM_HANDLERS", "service-linked roles have AWS's names"),
    Private(f"{SERVICES}.iam", "_error", "an error in IAM's protocol"),
    Private(f"{SERVICES}.sts", "_sessions", "which role made a call"),
    Private(f"{SERVICES}.sts", "register_session", "credentials of a task role or of a state machine's role"),
    # ministack: single services
    Private(f"{SERVICES}.cloudformation.provisioners", "_RESOURCE_HANDLERS", "resource types it does not know"),
    Private(f"{SERVICES}.cloudformation.provisioners", "_sfn_definition", "the definition of a state machine"),
    Private(f"{SERVICES}.ec2", "_create_flow_logs", "AWS::EC2::FlowLog"),
    Private(f"{SERVICES}.ec2", "_delete_flow_logs", "AWS::EC2::FlowLog"),
    Private(f"{SERVICES}.ec2", "_ACTION_MAP", "the true sizes of instance types"),
    Private(f"{SERVICES}.ec2", "_parse_member_list", "which instance types are asked for"),
    Private(f"{SERVICES}.ec2", "_xml", "an answer in EC2's protocol"),
    Private(f"{SERVICES}.ec2", "_error", "an error in EC2's protocol"),
    Private(f"{SERVICES}.cloudformation.stacks", "_runs_on_worker_thread", "our types call the server itself"),
    Private(f"{SERVICES}.ssm", "_PUBLIC_AMI_PARAMETERS", "the AMIs that ECS publishes"),
    Private(f"{SERVICES}.ecs", "_ACTION_MAP", "ECS tasks are ours, clusters and definitions ministack's"),
    Private(f"{SERVICES}.ecs", "_clusters", "clusters by name"),
    Private(f"{SERVICES}.ecs", "_resolve_cluster_name", "clusters by ARN"),
    Private(f"{SERVICES}.ecs", "_task_defs", "task definitions by key"),
    Private(f"{SERVICES}.ecs", "_resolve_td_key", "task definitions by family or ARN"),
    Private(f"{SERVICES}.ecr", "_describe_images", "the CDK CLI learns that an image is missing"),
    Private(f"{SERVICES}.lambda_svc", "_execute_function_warm", "the exception's class as a Lambda's errorType"),
    Private(f"{SERVICES}.lambda_svc", "_execute_function_with_config_scope", "throttled events are kept"),
    Private(f"{SERVICES}.lambda_svc", "_resolve_layer_zip", "layers are for another processor"),
    Private(f"{SERVICES}.s3", "_crc64nvme", "checksums at native speed"),
    Private(f"{SERVICES}.s3", "_resolve_object_checksums", "the checksum that S3 adds to every upload"),
    Private(f"{SERVICES}.s3", "_object_response_headers", "the checksum of an object that came in parts"),
    Private(f"{SERVICES}.cloudwatch_logs", "_compile_filter_pattern", "JSON filter patterns"),
    Private(f"{SERVICES}.cloudwatch_logs", "_filter_log_events", "pages, stream names and prefixes"),
    Private(f"{SERVICES}.cloudwatch_logs", "_log_groups", "stream names of a group"),
    Private(f"{SERVICES}.eventbridge", "_parse_rate_seconds", "rate() schedules in compressed time"),
    Private(f"{SERVICES}.eventbridge", "_put_events", "events of AWS services themselves"),
    Private(f"{SERVICES}.eventbridge", "_invoke_target", "rights, dead-letter queues and faults of deliveries"),
    Private(f"{SERVICES}.eventbridge", "_dispatch_to_stepfunctions", "a machine is started by its target's role"),
    Private(f"{SERVICES}.eventbridge", "_SCHEDULER_TICK_INTERVAL", "schedules of less than a second"),
    # ministack: Step Functions, whose interpreter is moto's
    Private(f"{SERVICES}.stepfunctions", "_run_execution", "moto's interpreter runs an execution"),
    Private(f"{SERVICES}.stepfunctions", "_start_execution", "starting a running name again is allowed"),
    Private(f"{SERVICES}.stepfunctions", "_list_executions", "an unknown machine is an error"),
    Private(f"{SERVICES}.stepfunctions", "_resolve_state_machine_arn", "machines by the ARN of a version or an alias"),
    Private(f"{SERVICES}.stepfunctions", "_create_state_machine", "what AWS does not create is refused"),
    Private(f"{SERVICES}.stepfunctions", "_update_state_machine", "what AWS does not create is refused"),
    Private(f"{SERVICES}.stepfunctions", "_validate_state_machine_definition", "the same rules, without creating"),
    Private(f"{SERVICES}.stepfunctions", "_test_state", "one state is run by the interpreter too"),
    Private(f"{SERVICES}.stepfunctions", "_stop_execution", "a stop reaches the interpreter"),
    Private(f"{SERVICES}.stepfunctions", "_get_execution_history", "the history is the interpreter's"),
    Private(f"{SERVICES}.stepfunctions", "_emit_execution_status_event", "the status event as AWS sends it"),
    Private(f"{SERVICES}.stepfunctions", "_executions", "where executions are kept"),
    Private(f"{SERVICES}.stepfunctions", "_state_machines", "where state machines are kept"),
    Private(f"{SERVICES}.stepfunctions", "_send_task_success", "task tokens are the interpreter's"),
    Private(f"{SERVICES}.stepfunctions", "_send_task_failure", "task tokens are the interpreter's"),
    Private(f"{SERVICES}.stepfunctions", "_send_task_heartbeat", "task tokens are the interpreter's"),
    # moto: what EC2 says of each instance type
    Private("moto.utilities.utils", "load_resource", "a copy of DescribeInstanceTypes"),
    # moto: the interpreter
    Private("moto.stepfunctions.parser.backend.execution_worker", "ExecutionWorker._execution_logic", "runs a machine"),
    Private(
        "moto.stepfunctions.parser.backend.execution_worker",
        "ExecutionWorker._get_evaluation_environment",
        "the history belongs to one execution",
    ),
    Private("moto.stepfunctions.parser.quotas", "is_within_size_quota", "256 KiB, counted as AWS counts"),
    Private(f"{ASL}.parse.asl_parser", "AmazonStateLanguageParser.parse", "definitions it cannot run are refused"),
    Private(f"{ASL}.eval.event.event_manager", "EventManager.add_event", "the limit and the end of a history"),
    Private(f"{ASL}.eval.callback.callback", "CallbackEndpoint.interrupt_all", "a token is used once"),
    Private(f"{COMPONENT}.common.assign.assign_decl", "AssignDecl._eval_body", "the limits of variables"),
    Private(f"{COMPONENT}.state.exec.state_task.state_task", "StateTask._eval_parameters", "arguments are checked"),
    Private(f"{TASK}.state_task_service_callback", "StateTaskServiceCallback._from_error", "a missed heartbeat"),
    Private(f"{ASL}.eval.environment", "Environment.set_error", "a stopped execution stays stopped"),
    Private(f"{ASL}.eval.environment", "Environment.set_timed_out", "a stopped execution stays stopped"),
    Private(f"{ASL}.eval.states", "States.get_error_output", "the data that $states shows"),
    Private(f"{ASL}.eval.variable_store", "VariableStore.get", "the variables of an expression"),
    Private(f"{ASL}.utils.boto_client", "boto_client_for", "every task signs with its state machine's role"),
    Private(f"{ASL}.utils.json_path", "extract_json", "$.a[0].b is a value, not a list"),
    Private(f"{COMPONENT}.common.string.string_expression", "StringJSONata._eval_body", "JSONata itself"),
    Private(f"{COMPONENT}.common.error_name.custom_error_name", "CustomErrorName.__init__", "Fail with States.*"),
    Private(
        f"{COMPONENT}.common.error_name.error_equals_decl", "ErrorEqualsDecl._eval_body", "what States.ALL catches"
    ),
    Private(f"{COMPONENT}.common.retry.retrier_decl", "time", "compressed retry intervals"),
    Private(f"{COMPONENT}.state.state", "CommonStateField._eval_body", "faults, and variables as on entry"),
    Private(
        f"{TASK}.state_task_service", "StateTaskService._eval_execution", "a call that fails, or whose reply is lost"
    ),
    Private(f"{COMPONENT}.state.wait.wait_function.wait_function", "WaitFunction._wait_interval", "compressed waits"),
    Private(
        f"{COMPONENT}.state.exec.execute_state",
        "ExecutionState._evaluate_with_timeout",
        "an interrupted state raises nothing",
    ),
    Private(f"{TASK}.state_task_service", "StateTaskService._normalise_parameters", "parameters as boto wants them"),
    Private(f"{TASK}.state_task_service", "StateTaskService._normalise_response", "results as Step Functions shows"),
    Private(f"{TASK}.state_task_service_callback", "StateTaskServiceCallback._eval_sync", ".sync tasks are cancelled"),
    Private(f"{TASK}.state_task_service_ecs", "StateTaskServiceEcs._build_sync_resolver", "exit codes decide"),
    Private(f"{TASK}.state_task_service_ecs", "StateTaskServiceEcs._eval_service_task", "failures of RunTask"),
    Private(f"{TASK}.state_task_service_ecs", "StateTaskServiceEcs._from_error", "ECS.* error names"),
    Private(f"{TASK}.state_task_service_ecs", "_SUPPORTED_API_PARAM_BINDINGS", "all parameters of RunTask"),
    Private(f"{TASK}.state_task_service_sfn", "StateTaskServiceSfn._build_sync2_resolver", "a stop reaches the child"),
    Private(f"{TASK}.state_task_service_sfn", "StateTaskServiceSfn._build_sync_resolver", "a stop reaches the child"),
    Private(f"{TASK}.state_task_service_aws_sdk", "_SERVICE_ERROR_NAMES", "error names of aws-sdk tasks"),
)

_BY_NAME = {str(one): one for one in TABLE}


def check() -> None:
    """Raises when an engine is another version or has lost a name, and says which."""
    for package, version in PINNED.items():
        found = importlib.metadata.version(package)
        if found != version:
            raise EngineChanged(f"{package} is {found}, and the local cloud is built on {version}; install that one")
    gone = [one for one in TABLE if not _is_there(one)]
    if gone:
        lines = "\n".join(f"  {one}: {one.purpose}" for one in gone)
        raise EngineChanged(f"names that the local cloud builds on are gone:\n{lines}")


def use(module: str, name: str) -> Any:
    """A private name of an engine; it must be in the table."""
    owner, last = _BY_NAME[f"{module}.{name}"].holder()
    return getattr(owner, last)


def replace(module: str, name: str, value: Any) -> Any:
    """Replaces it by `value`, also in the engine's modules that imported it by name; returns the original."""
    owner, last = _BY_NAME[f"{module}.{name}"].holder()
    original = getattr(owner, last)
    setattr(owner, last, value)
    if getattr(original, "__module__", None) == module and "." not in name:
        for loaded in list(sys.modules.values()):
            if loaded.__name__.startswith(("ministack", "moto")) and vars(loaded).get(last) is original:
                setattr(loaded, last, value)
    return original


def _is_there(one: Private) -> bool:
    try:
        owner, last = one.holder()
    except (ImportError, AttributeError):
        return False
    return hasattr(owner, last)
