"""A version of a function keeps the code and the environment that it was published with, as in AWS."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import pytest

from tools.local_cloud.cloud import LocalCloud

from .machines import Machines


def archive(answer: str) -> bytes:
    code = f"import os\n\n\ndef handler(event, context):\n    return [{answer!r}, os.environ['SAID']]\n"
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as made:
        made.writestr("asked.py", code)
    return held.getvalue()


@pytest.fixture
def published(cloud: LocalCloud, role: str) -> list[str]:
    """The ARNs of two versions, whose code and environment differ."""
    lambdas = cloud.client("lambda")
    made: dict[str, Any] = {"Handler": "asked.handler", "Runtime": "python3.14", "Role": role}
    first = {"Environment": {"Variables": {"SAID": "then"}}, "Code": {"ZipFile": archive("old")}}
    lambdas.create_function(FunctionName="asked", **made, **first)
    versions = [lambdas.publish_version(FunctionName="asked")["FunctionArn"]]
    lambdas.update_function_code(FunctionName="asked", ZipFile=archive("new"))
    lambdas.update_function_configuration(FunctionName="asked", Environment={"Variables": {"SAID": "now"}})
    return [*versions, lambdas.publish_version(FunctionName="asked")["FunctionArn"]]


def test_an_execution_that_names_a_version_is_answered_by_its_code(published: list[str], machines: Machines) -> None:
    for arn, answer in zip(published, (["old", "then"], ["new", "now"]), strict=True):
        asked = {"FunctionName": arn, "Payload": {}}
        call = {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "Arguments": asked, "End": True}
        assert json.loads(machines.run("Ask", {"Ask": call})["output"])["Payload"] == answer
