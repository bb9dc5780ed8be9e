"""Who cannot be known is told what to do, once, and in the exit code."""

import json
from typing import Any
from unittest.mock import MagicMock

import pytest
from botocore.exceptions import ClientError, NoCredentialsError

from client.cli import doctor
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
