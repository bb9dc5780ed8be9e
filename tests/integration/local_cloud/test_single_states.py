"""TestState: one state with its role, and the error that a Catch would see."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tools.local_cloud.cloud import LocalCloud

from .machines import Machine

GONE = "fs-00000000000000000"
DELETE: Machine = {
    "Type": "Task",
    "QueryLanguage": "JSONata",
    "Resource": "arn:aws:states:::aws-sdk:fsx:deleteFileSystem",
    "Arguments": {"FileSystemId": "{% $file_system_id %}"},
    "Next": "Elsewhere",
}


def outcome_of(cloud: LocalCloud, role: str, state: Machine, **variables: Any) -> dict[str, Any]:
    answer: dict[str, Any] = cloud.client("stepfunctions").test_state(
        definition=json.dumps(state), roleArn=role, input='{"n": 1}', variables=json.dumps(variables)
    )
    return answer


@pytest.fixture
def powerless(cloud: LocalCloud) -> Iterator[str]:
    trust = {"Effect": "Allow", "Principal": {"Service": "states.amazonaws.com"}, "Action": "sts:AssumeRole"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    iam = cloud.client("iam")
    yield str(iam.create_role(RoleName="Powerless", AssumeRolePolicyDocument=document)["Role"]["Arn"])
    iam.delete_role(RoleName="Powerless")


def test_a_state_sees_its_variables_and_its_input_and_says_where_it_leads(cloud: LocalCloud, role: str) -> None:
    state = {"Type": "Pass", "QueryLanguage": "JSONata", "Output": "{% $k + $states.input.n %}", "Next": "Elsewhere"}
    answer = outcome_of(cloud, role, state, k=41)
    assert (answer["status"], answer["output"], answer["nextState"]) == ("SUCCEEDED", "42", "Elsewhere")


def test_an_error_of_a_service_has_the_name_that_a_catch_sees(cloud: LocalCloud, role: str) -> None:
    answer = outcome_of(cloud, role, DELETE, file_system_id=GONE)
    assert (answer["status"], answer["error"]) == ("FAILED", "FSx.FileSystemNotFoundException")


def test_the_state_has_the_rights_of_its_role_alone(cloud: LocalCloud, powerless: str) -> None:
    """An error that the service's API does not name comes as its base class (stacks/flows/aws_errors.py)."""
    answer = outcome_of(cloud, powerless, DELETE, file_system_id=GONE)
    assert (answer["status"], answer["error"]) == ("FAILED", "FSx.FSxException")


@pytest.mark.parametrize(
    ("state", "code"),
    [
        ({**DELETE, "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "Elsewhere"}]}, "NotImplemented"),
        ({**DELETE, "Retry": [{"ErrorEquals": ["States.ALL"]}]}, "NotImplemented"),
        ({**DELETE, "Resource": "arn:aws:states:::ecs:runTask.sync"}, "InvalidDefinition"),
    ],
)
def test_what_is_not_executed_here_is_refused(cloud: LocalCloud, role: str, state: Machine, code: str) -> None:
    with pytest.raises(ClientError) as refused:
        outcome_of(cloud, role, state, file_system_id=GONE)
    assert refused.value.response["Error"]["Code"] == code
