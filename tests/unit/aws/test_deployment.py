"""A client knows a deployment by its document; where there is none that it can read, it says what to do."""

import json
import re
from typing import Any
from unittest.mock import Mock

import pytest
from botocore.exceptions import ClientError

from belay.aws import deployment
from belay.aws.deployment import NotDeployed, OtherVersion
from tests.unit.client.samples import DEPLOYED
from tools.repository import REPOSITORY

DOCUMENT: dict[str, Any] = DEPLOYED.model_dump(mode="json")


def clients(**documents: str) -> Any:
    """SSM with these documents under /belay/, and no other service."""

    def get_parameter(*, Name: str) -> dict[str, Any]:
        name = Name.removeprefix("/belay/")
        if name not in documents:
            raise ClientError({"Error": {"Code": "ParameterNotFound"}}, "GetParameter")
        return {"Parameter": {"Value": documents[name]}}

    ssm = Mock(get_parameter=get_parameter)
    ssm.meta.region_name = "eu-west-1"
    return {"ssm": ssm}.__getitem__


def test_a_deployment_is_its_document_and_nothing_else_is_asked() -> None:
    asked = clients(belay=json.dumps(DOCUMENT), other=json.dumps(DOCUMENT | {"name": "other"}))
    assert deployment.find(asked) == DEPLOYED
    assert deployment.find(asked, "other").name == "other"


def test_a_field_that_is_new_does_not_trouble_an_older_command_line() -> None:
    assert deployment.find(clients(belay=json.dumps(DOCUMENT | {"later": 1}))) == DEPLOYED


def test_a_deployment_that_is_not_there_is_named_with_its_region_and_what_to_do() -> None:
    with pytest.raises(NotDeployed, match=r"'team-a' in eu-west-1 .*/belay/team-a.*cdk deploy --all.*--deployment"):
        deployment.find(clients(belay=json.dumps(DOCUMENT)), "team-a")


def test_what_may_not_be_read_is_not_taken_for_missing() -> None:
    ssm = Mock()
    ssm.get_parameter.side_effect = ClientError({"Error": {"Code": "AccessDeniedException"}}, "GetParameter")
    with pytest.raises(ClientError, match="AccessDenied"):
        deployment.find(lambda _service: ssm)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (json.dumps({**DOCUMENT, "version": 0}), "older than this command line; deploy it again"),
        (json.dumps({**DOCUMENT, "version": 2}), "newer than this command line; install the Belay that deployed it"),
        (json.dumps({**DOCUMENT, "bucket": None}), "/belay/belay: bucket: .*; deploy it again"),
        ("edited by hand", "older than this command line; deploy it again"),
        ("[]", "older than this command line; deploy it again"),
    ],
)
def test_a_document_of_another_version_says_which_side_to_update(text: str, said: str) -> None:
    with pytest.raises(OtherVersion, match=said):
        deployment.find(clients(belay=text))


def test_no_client_looks_into_what_was_deployed_or_builds_its_names() -> None:
    """CloudFormation's stacks and the functions' variables are the stacks' own; the document is for clients."""
    guess = re.compile(r"""["'](cloudformation|lambda|autoscaling)["']|}Training["']|-(train|teardown|trainer)["']""")
    files = [
        file for folder in ("belay/cli", "belay/client", "tools/demo") for file in (REPOSITORY / folder).rglob("*.py")
    ]
    assert len(files) > 30
    assert {file.name: guess.findall(file.read_text()) for file in files if guess.search(file.read_text())} == {}
    assert guess.search('f"{name}-trainer"') and guess.search('clients("cloudformation")')
