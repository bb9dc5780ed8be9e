"""SSM: the document that the training stack leaves for clients."""

import json
from collections.abc import Callable
from typing import Any

from botocore.exceptions import ClientError
from pydantic import ValidationError

from belay.contract.deployment import VERSION, Deployment, parameter_name

# boto3.client, or the same method of a session: the service's name in, its client out.
Clients = Callable[[str], Any]


class NotDeployed(Exception):
    """There is no such deployment in this account and Region."""


class OtherVersion(Exception):
    """This command line and the deployment are of different versions; the message says which one to update."""


def find(clients: Clients, name: str = "belay") -> Deployment:
    ssm, parameter = clients("ssm"), parameter_name(name)
    try:
        text = str(ssm.get_parameter(Name=parameter)["Parameter"]["Value"])
    except ClientError as error:
        if error.response["Error"]["Code"] != "ParameterNotFound":
            raise
        raise NotDeployed(
            f"there is no deployment {name!r} in {ssm.meta.region_name} (no SSM parameter {parameter}); deploy it with"
            " 'npx cdk deploy --all', once more if Belay 0.1 did, or name another one with --deployment"
        ) from None
    try:
        return Deployment.model_validate_json(text)
    except ValidationError as error:
        raise OtherVersion(f"deployment {name!r} cannot be read: {_reason(text, parameter, error)}") from None


def _reason(text: str, parameter: str, error: ValidationError) -> str:
    try:
        version = json.loads(text)["version"]
    except (ValueError, TypeError, KeyError):
        version = None
    if isinstance(version, int) and version > VERSION:
        return "it is newer than this command line; install the Belay that deployed it"
    if version == VERSION:
        fault = error.errors()[0]
        reason = f"{parameter}: {'.'.join(map(str, fault['loc']))}: {fault['msg']}"
    else:
        reason = "it is older than this command line"
    return f"{reason}; deploy it again with 'npx cdk deploy --all'"
