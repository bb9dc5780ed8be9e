"""Who cannot be known is told what to do, once, and in the exit code."""

import json
from typing import Any
from unittest.mock import MagicMock

import pytest
from botocore.exceptions import ClientError, NoCredentialsError

from client.cli import doctor
from client.cli.findings import Finding
from client.cli.outcome import Exit
from tests.support.commands import check

EXPIRED = ClientError({"Error": {"Code": "ExpiredToken", "Message": "The token has expired"}}, "GetCallerIdentity")


@pytest.mark.parametrize(("refusal", "said"), [(NoCredentialsError(), "set AWS_PROFILE"), (EXPIRED, "has expired")])
def test_without_credentials_nothing_else_is_asked(
    refusal: Exception, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Sts:
        def get_caller_identity(self) -> Any:
            raise refusal

    def client(service: str) -> Sts:
        assert service == "sts"
        return Sts()

    monkeypatch.setattr(doctor, "clients", lambda: client)
    assert doctor.doctor(deployment_name="belay", as_json=True) is Exit.FINDINGS
    [finding] = json.loads(capsys.readouterr().out)
    assert finding["what"] == "credentials" and finding["state"] == "wrong" and said in finding["text"]


def test_a_service_without_its_role_says_who_makes_it_and_how_to(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = MagicMock()
    made.get_role.side_effect = ClientError({"Error": {"Code": "NoSuchEntity"}}, "GetRole")
    made.describe_stacks.side_effect = ClientError({"Error": {"Code": "ValidationError"}}, "DescribeStacks")
    monkeypatch.setattr(doctor, "clients", lambda: lambda service: made)
    doctor.doctor(deployment_name="belay", as_json=True)
    found = {finding["what"]: finding for finding in json.loads(capsys.readouterr().out)}
    for service, maker in {"FSx": "the first run", "ECS": "the first cluster"}.items():
        said = found[f"role of {service}"]["text"]
        assert f"{maker} " in said
        command = said[said.index("aws iam") :]
        check(command)
        assert command.endswith(f" {service.lower()}.amazonaws.com")


@pytest.mark.parametrize(
    ("arns", "state", "said"),
    [
        ([], "unknown", "notice_email"),
        (["arn:1", "PendingConfirmation"], "wrong", "b@example.com has not confirmed"),
        (["arn:1", "arn:2"], "ok", "a@example.com, b@example.com"),
    ],
)
def test_mails_that_nobody_gets_are_found_before_one_is_needed(
    arns: list[str], state: str, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = MagicMock()
    made.describe_stacks.return_value = {
        "Stacks": [{"Outputs": [{"OutputKey": key, "OutputValue": key} for key in ("TrainMachineArn", "BucketName")]}]
    }
    variables = {"BELAY_NOTICES_TOPIC_ARN": "arn:topic", "BELAY_PRICES": "{}"}
    made.get_function_configuration.return_value = {"Environment": {"Variables": variables}}
    subscriptions = [
        {"Endpoint": f"{who}@example.com", "SubscriptionArn": arn} for who, arn in zip("ab", arns, strict=False)
    ]
    topics = {"arn:topic": [{"Subscriptions": [one]} for one in subscriptions]}
    made.get_paginator.return_value.paginate.side_effect = lambda TopicArn="", **_: topics.get(TopicArn, [])
    monkeypatch.setattr(doctor, "clients", lambda: lambda service: made)
    monkeypatch.setattr(doctor, "_instances", lambda made, name: ("g6.xlarge", []))
    monkeypatch.setattr("client.cli.quotas.gpu", lambda *_, **__: Finding("gpu", "unknown", ""))
    doctor.doctor(deployment_name="belay", as_json=True)
    [found] = [one for one in json.loads(capsys.readouterr().out) if one["what"] == "notices"]
    assert found["state"] == state
    assert said in found["text"]
