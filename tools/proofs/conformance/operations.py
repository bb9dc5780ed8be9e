"""Every operation of AWS that Belay uses: read from its code, from its state machines, and from recorded calls."""

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import botocore.session
from botocore import xform_name

from tools.definitions.asl import Json, tasks
from tools.proofs.permissions.recorded_calls import golden

_REPOSITORY = Path(__file__).parents[3]
_CODE = ("belay", "lambdas")
# The services of boto3 that Belay has clients of, with the prefix of their operations in IAM.
_SERVICES = {
    "cloudformation": "cloudformation",
    "ec2": "ec2",
    "ecs": "ecs",
    "fsx": "fsx",
    "iam": "iam",
    "lambda": "lambda",
    "logs": "logs",
    "s3": "s3",
    "service-quotas": "servicequotas",
    "sns": "sns",
    "ssm": "ssm",
    "stepfunctions": "states",
    "sts": "sts",
}
# What boto3 calls for its own methods, and what IAM calls another name than the API does.
_METHODS = {"download_fileobj": "s3:GetObject", "upload_fileobj": "s3:PutObject"}
_NAMES_IN_IAM = {
    "s3:HeadObject": "s3:GetObject",
    "s3:ListObjectsV2": "s3:ListBucket",
    "lambda:Invoke": "lambda:InvokeFunction",
}
_INTEGRATIONS = {"states:startExecution": "states:StartExecution", "lambda:invoke": "lambda:InvokeFunction"}


def used(definitions: Iterable[Json]) -> set[str]:
    """As IAM names them: `fsx:CreateFileSystem`."""
    found = {call["action"] for call in golden()}
    for folder in _CODE:
        for path in sorted((_REPOSITORY / folder).rglob("*.py")):
            found |= set(_called(ast.parse(path.read_text())))
    for definition in definitions:
        found |= {_integrated(state["Resource"]) for state in tasks(definition).values()}
    return {_NAMES_IN_IAM.get(one, one) for one in found}


def _called(module: ast.Module) -> Iterator[str]:
    for node in ast.walk(module):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        name, receiver = node.func.attr, ast.unparse(node.func.value)
        if name == "get_paginator" and node.args and isinstance(node.args[0], ast.Constant):
            name = str(node.args[0].value)
        if name in _METHODS:
            yield _METHODS[name]
        elif services := _having().get(name):
            yield from _chosen(services, receiver)


def _chosen(services: dict[str, str], receiver: str) -> Iterator[str]:
    """Where several services have the operation, the client's name says which one is asked."""
    if len(services) == 1:
        yield from services.values()
    else:
        yield from (operation for service, operation in services.items() if service in receiver)


@cache
def _having() -> dict[str, dict[str, str]]:
    """For each method of a client: the services that have it, with the operation."""
    session: Any = botocore.session.get_session()
    found: dict[str, dict[str, str]] = {}
    for service, prefix in _SERVICES.items():
        for operation in session.get_service_model(service).operation_names:
            found.setdefault(xform_name(operation), {})[service] = f"{prefix}:{operation}"
    return found


def _integrated(resource: str) -> str:
    """`arn:aws:states:::aws-sdk:fsx:createFileSystem` is `fsx:CreateFileSystem`."""
    service, _, action = resource.partition(":::")[2].removeprefix("aws-sdk:").partition(":")
    action = action.split(".")[0]
    return _INTEGRATIONS.get(f"{service}:{action}") or f"{service}:{action[0].upper()}{action[1:]}"
