"""EventBridge starts its targets by the rights that it was given, and no more reliably than it promises."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from tools.local_cloud import engines
from tools.local_cloud.clients import Clients
from tools.local_cloud.clock import Clock
from tools.local_cloud.faults import EventDelivery, FaultRegistry
from tools.local_cloud.platform.roles import assume
from tools.local_cloud.settings import ACCOUNT, REGION

MODULE = "ministack.services.eventbridge"
EVENTBRIDGE = "events.amazonaws.com"
Wire = dict[str, Any]
TIMES = {"never": 0, "twice": 2}


@dataclass
class Delivery:
    """One attempt to start a state machine, as the function that starts it sees it."""

    role: str
    refused: str = ""


def install(clients: Clients, clock: Clock, faults: FaultRegistry) -> None:
    """Puts roles, policies, dead-letter queues and faults between a rule and its targets."""
    invoke = engines.use(MODULE, "_invoke_target")
    scope = engines.use("ministack.core.responses", "request_scope")
    in_progress: ContextVar[Delivery] = ContextVar("belay_delivery")

    def deliver(target: Wire, event: Wire, rule: Wire, view: Any = None) -> None:
        fault = faults.take(EventDelivery, _labels(event, rule))
        late_seconds = fault.seconds if fault and fault.how == "late" else 0.0
        for _ in range(TIMES.get(fault.how, 1) if fault else 1):
            # On a thread of its own: what starts a target asks this server.
            clock.after(late_seconds, lambda: attempt(target, event, rule, view))

    def attempt(target: Wire, event: Wire, rule: Wire, view: Any) -> None:
        delivery = Delivery(role=target.get("RoleArn", ""))
        in_progress.set(delivery)
        with scope(ACCOUNT, REGION):
            delivery.refused = _refusal(target, rule["Arn"], clients)
            if not delivery.refused:
                invoke(target, event, rule, view)
            if delivery.refused and "DeadLetterConfig" in target:
                body = view.event_with_detail() if view else event
                _keep(target, rule["Arn"], json.dumps(body), delivery.refused, clients)

    def start_execution(arn: str, payload: str) -> None:
        delivery = in_progress.get()
        states = clients.get("stepfunctions", identity=assume(delivery.role, "events"))
        try:
            states.start_execution(stateMachineArn=arn, input=payload)
        except ClientError as error:
            delivery.refused = str(error)

    engines.replace(MODULE, "_invoke_target", deliver)
    engines.replace(MODULE, "_dispatch_to_stepfunctions", start_execution)


def _labels(event: Wire, rule: Wire) -> dict[str, str]:
    """What the `where` of a fault can name: the rule, the event's source and type, and the texts of its detail."""
    detail = json.loads(event.get("Detail") or "{}")
    texts = {name: value for name, value in detail.items() if isinstance(value, str)}
    return {**texts, "rule": rule["Name"], "source": event["Source"], "detail-type": event["DetailType"]}


def _refusal(target: Wire, rule: str, clients: Clients) -> str:
    """Why EventBridge may not start the target; empty: it may. A function needs a policy that names EventBridge and the
    rule, a state machine a role that trusts EventBridge (EventBridge user guide, "Permissions for rules" and
    "Troubleshooting": "My rule ran but my Lambda function wasn't invoked")."""
    arn = target["Arn"]
    if ":function:" in arn:
        return (
            "" if _allowed(_function_policy(arn, clients), "lambda:InvokeFunction", rule) else f"no permission on {arn}"
        )
    if ":stateMachine:" in arn:
        trust = _trust(target.get("RoleArn", ""), clients)
        return "" if _allowed(trust, "sts:AssumeRole", None) else f"EventBridge cannot assume the role for {arn}"
    return ""


def _function_policy(arn: str, clients: Clients) -> Wire:
    return _or_nothing(lambda: json.loads(clients.get("lambda").get_policy(FunctionName=arn)["Policy"]))


def _trust(role: str, clients: Clients) -> Wire:
    name = role.rpartition("/")[2]
    return _or_nothing(lambda: dict(clients.get("iam").get_role(RoleName=name)["Role"]["AssumeRolePolicyDocument"]))


def _or_nothing(ask: Callable[[], Wire]) -> Wire:
    """A policy that is not there allows nothing."""
    try:
        return ask()
    except ClientError:
        return {"Statement": []}


def _allowed(policy: Wire, action: str, rule: str | None) -> bool:
    return any(
        statement["Effect"] == "Allow"
        and action in _listed(statement["Action"])
        and EVENTBRIDGE in _listed(_services(statement))
        and (rule is None or rule in _sources(statement))
        for statement in _listed(policy["Statement"])
    )


def _services(statement: Wire) -> Any:
    principal = statement.get("Principal")
    return principal.get("Service", []) if isinstance(principal, Mapping) else []


def _sources(statement: Wire) -> Iterator[str]:
    for condition in statement.get("Condition", {}).values():
        for key, values in condition.items():
            if key.lower() == "aws:sourcearn":
                yield from _listed(values)


def _keep(target: Wire, rule: str, body: str, why: str, clients: Clients) -> None:
    """In the dead-letter queue, if its policy lets this rule in, with the attributes that EventBridge gives
    (EventBridge user guide, "Using dead-letter queues to process undelivered events")."""
    sqs = clients.get("sqs")
    url = sqs.get_queue_url(QueueName=target["DeadLetterConfig"]["Arn"].rpartition(":")[2])["QueueUrl"]
    policy = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["Policy"]).get("Attributes", {}).get("Policy")
    if not policy or not _allowed(json.loads(policy), "sqs:SendMessage", rule):
        return
    texts = {"RULE_ARN": rule, "TARGET_ARN": target["Arn"], "ERROR_CODE": "NO_PERMISSIONS", "ERROR_MESSAGE": why}
    attributes = {name: {"DataType": "String", "StringValue": value} for name, value in texts.items()}
    sqs.send_message(QueueUrl=url, MessageBody=body, MessageAttributes=attributes)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
