"""Who cannot be known is told what to do, once, and in the exit code."""

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError, NoCredentialsError

from client.cli import doctor
from client.cli.outcome import Exit

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
