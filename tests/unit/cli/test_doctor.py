"""Without credentials there is one finding that says what to do, and the exit code of a finding."""

import json
from typing import Any
from unittest.mock import MagicMock

import pytest
from botocore.exceptions import ClientError, NoCredentialsError

from belay.cli.commands import doctor
from belay.cli.findings import Finding
from belay.cli.outcome import Exit
from tests.unit.client.samples import DEPLOYED
from tools.docgen.command_check import check

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
    made.get_parameter.side_effect = ClientError({"Error": {"Code": "ParameterNotFound"}}, "GetParameter")
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
    made.get_parameter.return_value = {"Parameter": {"Value": DEPLOYED.model_dump_json()}}
    subscriptions = [
        {"Endpoint": f"{who}@example.com", "SubscriptionArn": arn} for who, arn in zip("ab", arns, strict=False)
    ]
    topics = {DEPLOYED.notices_topic_arn: [{"Subscriptions": [one]} for one in subscriptions]}
    made.get_paginator.return_value.paginate.side_effect = lambda TopicArn="", **_: topics.get(TopicArn, [])
    monkeypatch.setattr(doctor, "clients", lambda: lambda service: made)
    monkeypatch.setattr("belay.cli.quotas.vcpus", lambda *_, **__: Finding("gpu", "unknown", ""))
    doctor.doctor(deployment_name="belay", as_json=True)
    [found] = [one for one in json.loads(capsys.readouterr().out) if one["what"] == "notices"]
    assert found["state"] == state
    assert said in found["text"]
