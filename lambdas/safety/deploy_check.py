"""May this version of Belay be deployed now? CloudFormation asks, before it changes anything that runs rely on.

It has no layer and needs none: what is asked first must not wait for anything else that is deployed.
"""

import json
import logging
import time
import urllib.request
from collections.abc import Iterator
from typing import Any

from botocore.exceptions import ClientError

from belay.aws.clients import client, error_code
from belay.contract.run import run_id

logger = logging.getLogger(__name__)
# A role that was made a moment ago is refused until all of IAM knows it.
_PAUSES_SECONDS = (5, 10, 20, 0)
_MOST_NAMED = 10


def handler(event: dict[str, Any], context: object) -> None:
    refusal = None
    # A delete is never refused: what stands in its way is said by CloudFormation itself.
    if event["RequestType"] != "Delete":
        try:
            refusal = _refusal(event["ResourceProperties"], event["StackId"])
        except Exception:
            # A check that cannot look must not stand in the way of what may be a correction: rescue and sweep find
            # every run by what it left.
            logger.exception("could not look for runs; deployed without")
    _answer(event, refusal)


def _refusal(properties: dict[str, str], stack_id: str) -> str | None:
    """One sentence, if runs are alive that cannot go on with this version."""
    if properties["DeployOverRuns"] == "true":
        return None
    deployed = _deployed(properties["Parameter"])
    new = int(properties["MessagesVersion"])
    # Of what is deployed, and not of the resource's last properties: a rollback sets those back too.
    if deployed in (None, new) or _rolls_back(stack_id):
        return None
    alive = [*_runs(properties["TrainMachine"]), *_teardowns(properties["TeardownMachine"])]
    if not alive:
        return None
    more = f" and {len(alive) - _MOST_NAMED} more" if len(alive) > _MOST_NAMED else ""
    return (
        f"Not deployed: what began with version {deployed} of Belay's messages cannot go on with version {new}, and is"
        f" alive: {', '.join(alive[:_MOST_NAMED])}{more}. Wait until it has ended, or end it with `belay cancel RUN`,"
        " and deploy again; or deploy over it with `-c belay:deploy_over_runs=true` (docs/operations.md)."
    )


def _deployed(parameter: str) -> int | None:
    """The version of the messages that is deployed now; None before the first deployment."""
    for pause in _PAUSES_SECONDS:
        try:
            text = client("ssm").get_parameter(Name=parameter)["Parameter"]["Value"]
        except ClientError as error:
            if error_code(error) == "ParameterNotFound":
                return None
            if not pause or error_code(error) != "AccessDeniedException":
                raise
            time.sleep(pause)
        else:
            return int(json.loads(text).get("messages_version", 0))
    raise AssertionError("the last try has no pause")


def _rolls_back(stack_id: str) -> bool:
    """Then this version is the one that runs began with, although the document may name the other one already."""
    [stack] = client("cloudformation").describe_stacks(StackName=stack_id)["Stacks"]
    return "ROLLBACK" in stack["StackStatus"]


def _runs(machine: str) -> Iterator[str]:
    for one in _running(machine):
        yield f"run {run_id(one['executionArn'], one['startDate'])}"


def _teardowns(machine: str) -> Iterator[str]:
    for one in _running(machine):
        yield f"teardown {one['name']}"


def _running(machine: str) -> Iterator[dict[str, Any]]:
    pages = (
        client("stepfunctions")
        .get_paginator("list_executions")
        .paginate(stateMachineArn=machine, statusFilter="RUNNING")
    )
    for page in pages:
        yield from page["executions"]


def _answer(event: dict[str, Any], refusal: str | None) -> None:
    """A custom resource answers with a PUT to an address of its request."""
    said = {
        "Status": "FAILED" if refusal else "SUCCESS",
        "Reason": refusal or "no run is in the way",
        # One that changes would be a replacement.
        "PhysicalResourceId": event.get("PhysicalResourceId", event["LogicalResourceId"]),
        "StackId": event["StackId"],
        "RequestId": event["RequestId"],
        "LogicalResourceId": event["LogicalResourceId"],
    }
    # The address is signed for a request without a content type, and urllib would add one.
    asked = urllib.request.Request(
        event["ResponseURL"], data=json.dumps(said).encode(), headers={"Content-Type": ""}, method="PUT"
    )
    with urllib.request.urlopen(asked, timeout=20):  # nosec B310 # CloudFormation's own address
        logger.info("answered: %s", said["Reason"])
